import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, Installation, type RunningCommand, toLines } from '../support/command.ts'
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
testCurl('the demo prints commands that can be pasted as they are', async () => {
  const mahi = new Installation({ inProcesses: true })
  // A worker reads what is uploaded.
  const { demo, commands } = await startDemo(mahi, { WORKERS: '1' })
  expect(commands).toHaveLength(3)
  const answers = []
  for (const command of commands.slice(0, 2)) {
    const script = `${command} --silent --show-error --retry 5 --write-out '\\n%{http_code}'`
    const { code, stdout } = await mahi.spawn('bash', ['--norc', '-c', script]).ended
    expect([code, stdout.split('\n').at(-1)]).toEqual([0, '200'])
    answers.push(JSON.parse(stdout.slice(0, stdout.lastIndexOf('\n'))))
  }
  expect(answers[0]).toMatchObject({ totalCount: expect.any(Number), resultsCount: 2 })
  expect(answers[1]).toMatchObject({ page: 1, pageSize: 5, results: expect.any(Array) })
  expect(answers[0].totalCount).toBeGreaterThan(20)
  expect(answers[1].totalCount).toBeGreaterThan(100)
  const upload = `${commands[2]} --silent --show-error --write-out '%{http_code} '`
  const { stdout } = await mahi.spawn('bash', ['--norc', '-c', upload]).ended
  expect(stdout.match(/\b200 /g)).toHaveLength(4)
  await stop(demo)
})

testCurl('the demo answers the requests in the README as printed there', async () => {
  const mahi = new Installation({ inProcesses: true })
  const { demo, commands } = await startDemo(mahi)
  const [address = ''] = /http:\/\/[^/]+/.exec(commands[0] ?? '') ?? []
  const [requests = '', occupations = '', results = '', shown = ''] = blocksOf(
    'README.md',
    'The two operations',
  )
  const script = [requests, results].join('').replaceAll('http://127.0.0.1:8080', address)
  const silent = script.replaceAll('curl ', 'curl --silent --show-error --write-out "\\n" ')
  const { stdout } = await mahi.spawn('bash', ['--norc', '-c', silent]).ended
  const answers = stdout.trimEnd().split('\n')
  const printed = [occupations, shown].map((block) => JSON.parse(block.replaceAll(/^\s*\/\/.*$/gm, '')))
  for (const [index, answer] of answers.entries()) {
    const { data = [], ...rest } = printed[index]
    expect(JSON.parse(answer)).toMatchObject(rest)
    expect(JSON.parse(answer).data?.[0] ?? {}).toMatchObject(data[0] ?? {})
  }
  expect(answers).toHaveLength(2)
  await stop(demo)
})

test('a second start keeps the data and the key', async () => {
  const mahi = new Installation({ inProcesses: true })
  const first = await startDemo(mahi)
  const input = toLines([{ occupationCode: 'OWN', titleEnglish: 'My own' }])
  // While it runs: the commands work on its database like on any other.
  expect(await mahi.runJson(['occupations', 'import', '-'], { input, ...DEMO })).toMatchObject({ created: 1 })
  await stop(first.demo)
  const before = await mahi.run(['occupations', 'export'], DEMO)

  const second = await startDemo(mahi)
  expect(second.key).toBe(first.key)
  const [address = ''] = /http:\/\/[^/]+/.exec(second.commands[0] ?? '') ?? []
  const headers = { 'x-api-key': second.key }
  const response = await ask(`${address}/v1/occupations?Cursor=OWN&Limit=1`, headers)
  expect(await response.json()).toMatchObject({ data: [{ titleEnglish: 'My own' }] })
  await stop(second.demo)
  const after = await mahi.run(['occupations', 'export'], DEMO)
  expect(after.stdout).toBe(before.stdout)
})

test('a key that was revoked is replaced by a new one; only its owner can read it', async () => {
  const mahi = new Installation({ inProcesses: true })
  const first = await startDemo(mahi)
  await stop(first.demo)
  expect(existsSync(mahi.databaseUrl.slice('sqlite:'.length)), 'the database of the settings').toBe(false)
  await mahi.run(['keys', 'revoke', first.key], DEMO)
  const second = await startDemo(mahi)
  expect(second.key).not.toBe(first.key)
  expect(mahi.read('var/demo-key').trim()).toBe(second.key)
  expect(statSync(join(mahi.folder, 'var/demo-key')).mode & 0o777).toBe(0o600)
  await stop(second.demo)
})
