import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { generateModule } from '../../clients/python/generate.ts'
import { Installation } from '../support/command.ts'
import { listenOn } from '../support/connection.ts'
import { testWhere } from '../support/test-where.ts'

const CLIENT = fileURLToPath(new URL('../../clients/python/', import.meta.url))
const SAMPLES = fileURLToPath(new URL('../../samples/sdr/', import.meta.url))
const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8')
const openapi = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, object>
}
const [, submitting = ''] = [...readme.matchAll(/^```python\n(.*?)^```/gms)].map(([, block = '']) => block)

const hasPython = spawnSync('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).status === 0
const testPython = testWhere(hasPython, 'the Python client: no python3 of version 3.9 or later')

/** Runs a program with the module. Nothing is written beside it. */
async function python(
  mahi: Installation,
  program: string,
  parameters: readonly string[] = [],
  environment: Record<string, string> = {},
) {
  const file = join(mahi.folder, 'program.py')
  writeFileSync(file, program)
  return await mahi.spawn('python3', ['-W', 'error', file, ...parameters], {
    environment: { PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1', ...environment },
  }).ended
}

test('the module has the operations and types of openapi.json', () => {
  expect(readFileSync(join(CLIENT, 'mahi.py'), 'utf8'), 'run npm run openapi').toBe(generateModule())
})

testPython('the module imports the standard library only', async () => {
  const program = `import ast, pathlib, sys
tree = ast.parse(pathlib.Path(sys.argv[1]).read_text())
names = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
import mahi
used = {name.split('.')[0] for name in names}
print(sorted(used - set(getattr(sys, 'stdlib_module_names', used))))`
  const { stdout, stderr } = await python(new Installation({ inProcesses: true }), program, [
    join(CLIENT, 'mahi.py'),
  ])
  expect([stdout, stderr]).toEqual(['[]\n', ''])
})

testPython(
  'the program of the README submits a clean return, and prints the findings of a faulty one',
  async () => {
    const mahi = new Installation()
    const { key } = (await mahi.runJson(
      'keys create --client python --eid 9999 --scope submissions:write --scope validation-results:read'.split(
        ' ',
      ),
    )) as { key: string }
    const { url } = await mahi.serve({ WORKERS: '1' })
    const program = submitting.replace('https://mahi.example.org', url)

    const clean = await python(mahi, program, [join(SAMPLES, 'clean')], { MAHI_API_KEY: key })
    expect(clean).toMatchObject({ code: 0, stderr: '' })
    expect(clean.stdout).toMatch(/^(?:Warning .*\n)*Submitted\n$/)

    // Another return of the same organisation, as that one is submitted.
    const other = program.replace('202512', '202508')
    const five = join(mahi.folder, 'five')
    cpSync(join(SAMPLES, 'faulty'), five, { recursive: true, filter: (path) => !path.endsWith('faults.csv') })
    const faulty = await python(mahi, other, [five], { MAHI_API_KEY: key })
    expect(faulty).toMatchObject({ code: 0, stderr: '' })
    expect(faulty.stdout).toMatch(/^Error \S+ .+$/m)
    expect(faulty.stdout).not.toContain('Submitted')

    const refused = await python(mahi, program, [join(SAMPLES, 'clean')], { MAHI_API_KEY: 'wrong' })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^The submission stopped: .+\n$/)
    expect(refused.stderr).not.toContain('wrong')
  },
)

testPython('every operation sends a request, with all of its parameters', async () => {
  const { stdout, stderr } = await python(
    new Installation({ inProcesses: true }),
    `
import inspect
import mahi
class Recorder(mahi.Client):
    def _send(self, method, path, headers, content, read):
        raise mahi.MahiError("sent")
client = Recorder("http://127.0.0.1", eid="1")
sent = 0
for name, operation in vars(mahi._Operations).items():
    if name.startswith("_"):
        continue
    given = {each: "x" for each in inspect.signature(operation).parameters if each != "self"}
    try:
        list(operation(client, **given))
    except mahi.MahiError as error:
        sent += str(error) == "sent"
print(sent)`,
  )
  const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    path.startsWith('/v1/') ? Object.keys(methods) : [],
  )
  expect([stdout, stderr]).toEqual([`${operations.length}\n`, ''])
})

testPython('walks, streams, encodes and refuses as the service does', async () => {
  const mahi = new Installation({ inProcesses: true })
  await mahi.fill(
    readFileSync(new URL('../../samples/occupations.ndjson', import.meta.url), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  const { url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public' })
  const outcome = await python(
    mahi,
    `
from datetime import datetime, timezone
from mahi import Client, MahiError
client = Client("${url}/")
codes = [each["occupationCode"] for each in client.occupations(limit=10)]
assert codes == sorted(codes) and len(codes) == 42, codes
assert client.list_occupations(codes=codes[:2], fields=["titleEnglish"])["totalCount"] == 2
assert client.list_occupations(last_updated_after=datetime(2000, 1, 1, tzinfo=timezone.utc))["totalCount"] == 42
assert len(list(client.get_occupation_snapshot())) >= 42
assert client.get_occupation(codes[0])["occupationCode"] == codes[0]
for call, status in [
    (lambda: client.get_occupation("a/b é"), 404),
    (lambda: client.list_occupations(limit=0), 400),
    (lambda: Client("${url}", eid="1").get_submission("none"), 401),
]:
    try:
        call()
    except MahiError as error:
        assert error.status == status, error
        assert str(error)
    else:
        raise AssertionError(status)
for wrong in [lambda: client.get_occupation(".."), lambda: client.get_submission("none"), lambda: Client("mahi.example.org")]:
    try:
        wrong()
    except ValueError:
        continue
    raise AssertionError("a wrong call was sent")
`,
  )
  expect(outcome).toMatchObject({ code: 0, stderr: '' })
})

testPython(
  'a response that is cut off or refused for now is asked for again; a redirect is not followed',
  async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      if (asked.length === 1) {
        response.writeHead(200, { 'content-length': '1000', 'content-type': 'application/json' })
        response.write('{')
        setTimeout(() => request.socket.destroy(), 20)
      } else if (asked.length === 2) {
        response.writeHead(503, { 'retry-after': '0' }).end()
      } else if (request.url === '/v1/me') {
        response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
      } else {
        response.writeHead(200, { etag: 'W/"c7.abc-1"' }).end('{"data":[]}')
      }
    })
    const port = await listenOn(server)
    const outcome = await python(
      new Installation({ inProcesses: true }),
      `
from mahi import Client, MahiError
client = Client("http://127.0.0.1:${port}", api_key="k")
assert list(client.occupations()) == []
try:
    client.get_caller()
except MahiError as error:
    assert error.status == 302 and "not followed" in str(error), error
else:
    raise AssertionError("followed")
`,
    )
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    expect(asked).toEqual([...Array(3).fill('GET /v1/occupations?Limit=100'), 'GET /v1/me'])
  },
)
