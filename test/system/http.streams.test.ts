import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { engine } from '../support/temporary.ts'

/** What must be in no line of any log. Each is found nowhere else. */
const SECRETS = {
  token: 'marked-token-5f0e2a',
  otherToken: 'marked-token-b81c77',
  student: 'marked-student-410077',
  localId: 'marked-local-id-93',
  recordText: 'marked-record-text',
  databasePassword: 'marked-database-password',
  redisPassword: 'marked-redis-password',
}

type Line = Record<string, unknown>

/** The kinds of lines there are, by the fields that each has, besides `level` and `time`. */
const KINDS: Record<string, { always: string[]; sometimes?: string[] }> = {
  request: {
    always: ['bytes', 'id', 'ms', 'operation', 'outcome', 'status'],
    sometimes: ['client', 'eid', 'key', 'method', 'requestId', 'route', 'submission', 'trace'],
  },
  refusal: { always: ['address', 'audit', 'operation', 'reason'], sometimes: ['client', 'key', 'times'] },
  key: { always: ['audit', 'client', 'expires', 'key'] },
  notice: { always: ['msg'], sometimes: ['reason', 'err', 'signal'] },
}

function kindOf({ level, time, ...rest }: Line): string | undefined {
  const names = Object.keys(rest)
  if (typeof level !== 'string' || typeof time !== 'string') return undefined
  return Object.keys(KINDS).find((kind) => {
    const { always = [], sometimes = [] } = KINDS[kind] ?? {}
    return (
      always.every((name) => names.includes(name)) &&
      names.every((name) => always.includes(name) || sometimes.includes(name))
    )
  })
}

/** The address with a password, which a server that asks for none takes; SQLite has no password. */
function withPassword(url: string): string {
  if (engine === 'sqlite') return url
  const address = new URL(url)
  address.password = SECRETS.databasePassword
  return address.toString()
}

test('at LOG_LEVEL=trace no stream of a server or a command has a secret, and each line is of a known kind', async () => {
  const mahi = new Installation({ inProcesses: true })
  const environment = {
    DATABASE_URL: withPassword(mahi.databaseUrl),
    REDIS_URL: `redis://:${SECRETS.redisPassword}@127.0.0.1:1`,
    LOG_LEVEL: 'trace',
  }
  /** Standard error of every command, and standard output of those whose answer is no secret. */
  const said: string[] = []
  const run = async (parameters: string[], input?: string, answerIsSecret = false) => {
    const outcome = await mahi.run(parameters, { environment, ...(input !== undefined && { input }) })
    said.push(outcome.stderr, answerIsSecret ? '' : outcome.stdout)
    return outcome
  }
  const entry = {
    localId: SECRETS.localId,
    studentId: SECRETS.student,
    recordText: SECRETS.recordText,
    errorType: 'Error',
  }
  const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const publish = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', SECRETS.token]

  const { command, url } = await mahi.serve(environment)
  const create = async (client: string, ...rest: string[]) => {
    const { stdout } = await run(['keys', 'create', '--client', client, ...rest, '--json'], undefined, true)
    return JSON.parse(stdout) as { id: string; key: string }
  }
  const { id, key } = await create('vendor', '--eid', '1001')
  const doomed = await create('doomed')
  await run([...publish, '-'], lines(entry), true)
  // Ways in which a run can be faulty.
  for (const faulty of [
    lines({ ...entry, studentId: 410077410077 }),
    lines({ ...entry, errorType: SECRETS.recordText }),
    lines(SECRETS.recordText, [SECRETS.student]),
    `{"recordText":"${SECRETS.recordText}" "${SECRETS.student}"}\n`,
    lines({ ...entry, recordText: `${SECRETS.recordText}\u0000` }),
  ])
    expect([faulty, (await run([...publish, '-'], faulty)).code]).toEqual([faulty, 1])
  for (const [name, content] of [
    ['header.csv', `${SECRETS.localId},${SECRETS.student},${SECRETS.recordText}\n`],
    ['quote.csv', `localId,recordText\n"${SECRETS.localId}" ${SECRETS.student},"${SECRETS.recordText}\n`],
    ['broken.json', `[{"recordText":"${SECRETS.recordText}",${SECRETS.student}}]`],
  ] as const)
    expect([name, (await run([...publish, mahi.write(name, content)])).code]).toEqual([name, 1])
  await run(['keys', 'list'])
  await run(['keys', 'revoke', doomed.key])
  await run(['config'])
  const fetching = ['results', 'fetch', url, SECRETS.otherToken, '--eid', '1001']
  const fetched = await mahi.run(fetching, { environment: { ...environment, MAHI_API_KEY: key } })
  said.push(fetched.stderr)

  // test/http.logs.test.ts sends requests of every kind; these have a line of each.
  const results = `${url}/v1/submissions/${SECRETS.token}/validation-results`
  const wrongKey = `${id}_${'A'.repeat(43)}`
  for (const [sent, status] of [
    [key, 200],
    [wrongKey, 401],
  ] as const)
    expect((await fetch(results, { headers: { 'x-api-key': sent, eid: '1001' } })).status).toBe(status)

  // Another server, which can't have the port, and one whose database is not there.
  const nowhere =
    engine === 'sqlite'
      ? `sqlite:${mahi.folder}/header.csv/mahi.db`
      : `postgres://marked:${SECRETS.databasePassword}@127.0.0.1:1/none`
  for (const [parameters, own] of [
    [['serve', '--port', new URL(url).port], environment],
    [['serve'], { ...environment, DATABASE_URL: nowhere }],
  ] as const) {
    const failed = await mahi.run(parameters, { environment: own })
    expect(failed.code).toBe(1)
    said.push(failed.stdout, failed.stderr)
  }

  command.kill('SIGTERM')
  const { code, stdout, stderr } = await command.ended
  expect([code, stderr]).toEqual([0, ''])
  const log = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  expect(log.filter((line) => kindOf(line) === undefined)).toEqual([])
  expect([...new Set(log.map(kindOf))].sort()).toEqual(Object.keys(KINDS).sort())

  const hidden = {
    ...SECRETS,
    key: key.slice(id.length + 1),
    doomedKey: doomed.key.slice(id.length + 1),
    wrongKey: 'A'.repeat(43),
    number: '410077410077',
  }
  for (const [name, secret] of Object.entries(hidden)) {
    expect([name, log.filter((line) => JSON.stringify(line).includes(secret))]).toEqual([name, []])
    expect([name, said.filter((text) => text.includes(secret))]).toEqual([name, []])
  }
})
