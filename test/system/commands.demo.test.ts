import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, Installation, type RunningCommand, toLines } from '../support/command.ts'
import { withDatabase } from '../support/opened.ts'
import { blocksOf } from '../support/recipes.ts'
import { testWhere } from '../support/test-where.ts'

const DEMO = { environment: { DATABASE_URL: 'sqlite:var/demo.db' } }

/** Starts the demo and waits for the two commands that it prints. */
async function startDemo(
  mahi: Installation,
  environment: Record<string, string> = {},
): Promise<{ demo: RunningCommand; commands: string[]; key: string }> {
  const demo = mahi.start(['demo'], { environment })
  await demo.output(/Stop with Ctrl\+C/)
  const commands = demo.stdout.match(/curl .*/g) ?? []
  const key = /mahi_\w{12}_[\w-]{43}/.exec(commands[0] ?? '')?.[0] ?? ''
  return { demo, commands, key }
}

async function stop(demo: RunningCommand): Promise<void> {
  demo.kill('SIGINT')
  expect(await demo.ended).toMatchObject({ code: 0, stderr: '' })
}

const hasCurl = spawnSync('bash', ['--norc', '-c', 'curl --version']).status === 0
const testCurl = testWhere(hasCurl, 'the commands that the demo prints: there is no bash or no curl')
testCurl(
  'the demo prints commands that can be pasted, and answers those of the README as printed there',
  async () => {
    const mahi = new Installation({ inProcesses: true })
    // A worker reads what is uploaded.
    const { demo, commands } = await startDemo(mahi, { WORKERS: '1' })
    expect(commands).toHaveLength(3)
    expect(demo.stdout).toMatch(
      /works once, and only\s+for 15 minutes; .* a new one:\s+http:\S+\/console\/link\//,
    )
    const paste = async (script: string) => {
      const silent = script.replaceAll('curl ', 'curl --silent --show-error --write-out " %{http_code}\\n" ')
      return (await mahi.spawn('bash', ['--norc', '-c', silent]).ended).stdout.trimEnd().split('\n')
    }
    const read = (line = '') => JSON.parse(line.replace(/ 200$/, ''))
    const [list = '', page = '', upload = ''] = commands
    const [catalogue, findings] = [await paste(list), await paste(page)]
    expect(read(catalogue.at(-1))).toMatchObject({ totalCount: expect.any(Number), resultsCount: 2 })
    expect(read(findings.at(-1))).toMatchObject({ page: 1, pageSize: 5, results: expect.any(Array) })
    expect((await paste(upload)).join('\n').match(/ 200$/gm)).toHaveLength(4)

    const [address = ''] = /http:\/\/[^/]+/.exec(list) ?? []
    const [requests = '', occupations = '', results = '', shown = ''] = blocksOf(
      'README.md',
      'The two operations',
    )
    const answers = await paste([requests, results].join('').replaceAll('http://127.0.0.1:8080', address))
    const printed = [occupations, shown].map((block) => JSON.parse(block.replaceAll(/^\s*\/\/.*$/gm, '')))
    expect(answers).toHaveLength(2)
    for (const [index, answer] of answers.entries()) {
      const { data = [], ...rest } = printed[index]
      expect(read(answer)).toMatchObject(rest)
      expect(read(answer).data?.[0] ?? {}).toMatchObject(data[0] ?? {})
    }
    await stop(demo)
  },
)

test('another start keeps the data and the key, unless it was revoked', async () => {
  const mahi = new Installation({ inProcesses: true })
  const first = await startDemo(mahi)
  const input = toLines([{ occupationCode: 'OWN', titleEnglish: 'My own' }])
  // While it runs: the commands work on its database like on any other.
  expect(await mahi.runJson(['occupations', 'import', '-'], { input, ...DEMO })).toMatchObject({ created: 1 })
  await stop(first.demo)
  expect(existsSync(mahi.databaseUrl.slice('sqlite:'.length)), 'the database of the settings').toBe(false)
  const before = await mahi.run(['occupations', 'export'], DEMO)
  const change = (...statements: string[]) =>
    withDatabase(`sqlite:${join(mahi.folder, 'var/demo.db')}`, (database) =>
      database.write('schema', async (writer) => {
        for (const statement of statements) await writer.run(statement)
      }),
    )
  // As if the first start had been killed before it had checked the samples.
  await change('delete from submission_run', 'update submission set run = 0, total = 0, published = 0')

  const second = await startDemo(mahi)
  expect(second.key).toBe(first.key)
  const [address = ''] = /http:\/\/[^/]+/.exec(second.commands[0] ?? '') ?? []
  const headers = { 'x-api-key': second.key }
  const response = await ask(`${address}/v1/occupations?Cursor=OWN&Limit=1`, headers)
  expect(await response.json()).toMatchObject({ data: [{ titleEnglish: 'My own' }] })
  const results = `${address}/v1/submissions/sample-submission/validation-results?pageSize=5`
  const shown = (await (await ask(results, { ...headers, eid: '9999' })).json()) as { results: object[] }
  expect(shown.results).toHaveLength(5)
  await stop(second.demo)
  const after = await mahi.run(['occupations', 'export'], DEMO)
  expect(after.stdout).toBe(before.stdout)

  await change('update submission set expires = 1')
  await mahi.run(['keys', 'revoke', first.key], DEMO)
  const third = await startDemo(mahi)
  expect(third.key).not.toBe(first.key)
  // What cannot change any more is not offered.
  expect(third.commands).toHaveLength(2)
  expect(third.demo.stdout).toContain('To begin with a new sample submission')
  expect(mahi.read('var/demo-key').trim()).toBe(third.key)
  expect(statSync(join(mahi.folder, 'var/demo-key')).mode & 0o777).toBe(0o600)
  await stop(third.demo)

  await change("insert into migration (name, applied) values ('1.0', 1)")
  expect(await mahi.run(['demo'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('or delete var/demo.db and var/demo-key to begin a new demo'),
  })
})
