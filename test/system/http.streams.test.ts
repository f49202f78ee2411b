import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { Installation, until } from '../support/command.ts'
import { Issuer } from '../support/jwks.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'
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
  basic: Buffer.from('marked:marked-basic').toString('base64'),
  query: 'marked-query-value',
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
  failure: { always: ['err', 'id', 'msg'] },
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
function withPassword(url: string, port?: number): string {
  if (engine === 'sqlite') return url
  const address = new URL(url)
  address.password = SECRETS.databasePassword
  if (port !== undefined) address.port = String(port)
  return address.toString()
}

async function send(url: string, bytes: string): Promise<void> {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.end(bytes)
  await once(socket, 'data')
  socket.destroy()
}

test('at LOG_LEVEL=trace no stream of a server or a command has a secret, and each line is of a known kind', {
  timeout: 120_000,
}, async () => {
  const mahi = new Installation()
  const issuer = await Issuer.start()
  const issuerKey = await issuer.addKey()
  const proxy =
    engine === 'postgres'
      ? await PausableProxy.start(Number(new URL(inject('postgresUrl')).port || 5432))
      : undefined
  const environment = {
    ...issuer.settings,
    DATABASE_URL: withPassword(mahi.databaseUrl, proxy?.port),
    REDIS_URL: `redis://:${SECRETS.redisPassword}@127.0.0.1:1`,
    LOG_LEVEL: 'trace',
    RATE_LIMIT_OCCUPATIONS: '40/60',
    RATE_LIMIT_FAILED_CREDENTIALS: '25/60',
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
  const publish = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token']

  const { command, url } = await mahi.serve(environment)
  const created = await run(
    ['keys', 'create', '--client', 'vendor', '--eid', '1001', '--json'],
    undefined,
    true,
  )
  const { id, key } = JSON.parse(created.stdout) as { id: string; key: string }
  const doomed = JSON.parse(
    (await run(['keys', 'create', '--client', 'doomed', '--json'], undefined, true)).stdout,
  )
  await run([...publish, SECRETS.token, '-'], lines(entry), true)
  // Every way in which a run can be faulty, in every form.
  await run([...publish, SECRETS.token, '-'], lines({ ...entry, studentId: 410077410077 }))
  await run([...publish, SECRETS.token, '-'], lines({ ...entry, errorType: SECRETS.recordText }))
  await run([...publish, SECRETS.token, '-'], lines(SECRETS.recordText, [SECRETS.student]))
  await run([...publish, SECRETS.token, '-'], `{"recordText":"${SECRETS.recordText}" "${SECRETS.student}"}\n`)
  await run([...publish, SECRETS.token, '-'], `{"recordText":"${SECRETS.recordText}`)
  await run([...publish, SECRETS.token, '-'], lines({ ...entry, recordText: `${SECRETS.recordText}\u0000` }))
  for (const [name, content] of [
    ['header.csv', `${SECRETS.localId},${SECRETS.student},${SECRETS.recordText}\n`],
    [
      'shifted.csv',
      `localId,errorType,recordText\n${SECRETS.localId},${SECRETS.student},${SECRETS.recordText}\n`,
    ],
    ['quote.csv', `localId,recordText\n"${SECRETS.localId}" ${SECRETS.student},"${SECRETS.recordText}\n`],
    ['cells.csv', `localId,recordText\n${SECRETS.localId},${SECRETS.recordText},${SECRETS.student}\n`],
    ['broken.json', `[{"recordText":"${SECRETS.recordText}",${SECRETS.student}}]`],
  ] as const) {
    const { code } = await run([...publish, SECRETS.token, mahi.write(name, content)])
    expect([name, code]).toEqual([name, 1])
  }
  await run(
    ['results', 'publish', '--eid', '2002', '--return', 'R1', '--token', SECRETS.token, '-'],
    lines(entry),
  )
  await run(
    ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', `${SECRETS.token} `, '-'],
    '[]',
  )
  await run(['keys', 'list'])
  await run(['keys', 'list', '--json'])
  await run(['keys', 'revoke', doomed.key])
  await run(['keys', 'revoke', `${doomed.id}_${SECRETS.query}`, '--json'])
  await run(['config'])
  await run(['config', '--json'])
  await run(['migrate', '--json'])
  await run(['occupations', 'import', '-'], lines({ occupationCode: 'A1' }))
  await run(['occupations', 'export'])
  const fetching = { ...environment, MAHI_API_KEY: key }
  for (const [token, keyToUse] of [
    [SECRETS.otherToken, key],
    [SECRETS.token, doomed.key],
  ]) {
    const parameters = ['results', 'fetch', url, String(token), '--eid', '1001']
    const { stderr } = await mahi.run(parameters, {
      environment: { ...fetching, MAHI_API_KEY: String(keyToUse) },
    })
    said.push(stderr)
  }
  const mirrored = await mahi.run(['mirror', url, 'copy'], {
    environment: { ...fetching, MAHI_API_KEY: doomed.key },
  })
  said.push(mirrored.stdout, mirrored.stderr)

  const jwt = await issuer.sign(issuerKey)
  const wrongJwt = await issuer.sign(issuerKey, { aud: 'somebody else' })
  const results = `/v1/submissions/${SECRETS.token}/validation-results`
  const wrongKey = `${id}_${'A'.repeat(43)}`
  const requests: [string, RequestInit & { headers?: Record<string, string> }, number[]][] = [
    [results, { headers: { 'x-api-key': key, eid: '1001' } }, [200]],
    [results, { headers: { authorization: `Bearer ${key}`, eid: '1001' } }, [200]],
    [results, { headers: { authorization: `Bearer ${jwt}`, eid: '1001' } }, [200]],
    [results, { headers: { authorization: `Bearer ${wrongJwt}`, eid: '1001' } }, [401]],
    [results, { headers: { authorization: `Bearer ${jwt.slice(0, -9)}marked-jw`, eid: '1001' } }, [401]],
    [results, { headers: { authorization: `Basic ${SECRETS.basic}`, eid: '1001' } }, [401]],
    [results, { headers: { 'x-api-key': wrongKey, eid: '1001' } }, [401]],
    [results, { headers: { 'x-api-key': doomed.key, eid: '1001' } }, [401]],
    [results, { headers: { 'x-api-key': key, 'x-client-id': SECRETS.query } }, [401]],
    [results, { headers: { 'x-api-key': key, eid: SECRETS.query } }, [401]],
    [
      results.replace(SECRETS.token, SECRETS.otherToken),
      { headers: { 'x-api-key': key, eid: '1001' } },
      [401],
    ],
    [`${results}?page=9`, { headers: { 'x-api-key': key, eid: '1001' } }, [400]],
    [`${results}?${SECRETS.query}=1`, { headers: { 'x-api-key': key, eid: '1001' } }, [400]],
    [results, { headers: { 'x-api-key': key, eid: '1001', accept: 'text/html' } }, [406]],
    [results, { method: 'POST', body: SECRETS.recordText, headers: { 'x-api-key': key } }, [405]],
    [`${results}/${SECRETS.student}`, {}, [404]],
    [`/v9/submissions/${SECRETS.token}/validation-results`, {}, [400]],
    [`/v1/submissions/${SECRETS.token}%zz/validation-results`, {}, [400]],
    [`/v1/occupations?${key}=${SECRETS.query}`, { headers: { 'x-api-key': key } }, [400]],
    ['/v1/occupations', { headers: { 'x-api-key': key } }, [200]],
    [`/v1/occupations?${'x'.repeat(9000)}${SECRETS.query}`, { headers: { 'x-api-key': key } }, [414]],
    [`/${SECRETS.token}`, { headers: { cookie: SECRETS.query, referer: SECRETS.query } }, [404]],
    ['/docs/', {}, [200]],
    ['/readyz', {}, [200]],
  ]
  for (const [path, options, expected] of requests) {
    const { status } = await fetch(url + path, options)
    expect([path, status, expected.includes(status)]).toEqual([path, status, true])
  }
  await send(url, `GET ${results}\0 HTTP/1.1\r\nX-API-Key: ${key}\r\n\r\n`)
  await send(
    url,
    `GET ${results} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nExpect: ${SECRETS.query}\r\n\r\n`,
  )
  await send(url, `GET ${results} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}${'x'.repeat(20_000)}\r\n\r\n`)
  await send(url, `POST ${results} HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n${SECRETS.recordText}`)
  // Up to both limits and beyond.
  const statuses = new Set<number>()
  for (let index = 0; index < 45; index++) {
    statuses.add((await fetch(`${url}/v1/occupations`, { headers: { 'x-api-key': key } })).status)
    statuses.add(
      (await fetch(`${url}/v1/occupations`, { headers: { 'x-api-key': `${wrongKey}${index}` } })).status,
    )
  }
  expect(statuses).toEqual(new Set([200, 401, 429]))

  // The database away, and broken.
  if (proxy !== undefined) {
    proxy.pause()
    expect(
      (await fetch(`${url}${results}?pageSize=7`, { headers: { 'x-api-key': key, eid: '1001' } })).status,
    ).toBe(503)
    proxy.resume()
    // Readiness has a connection of its own; those of callers that were cut off are replaced when they are used.
    const headers = { 'x-api-key': key, eid: '1001' }
    await until(async () => (await fetch(`${url}${results}?pageSize=7`, { headers })).ok || undefined)
  }
  const database = await openDatabase(mahi.databaseUrl)
  for (const table of ['result_block', 'submission', 'api_key'])
    await database.write('schema', async (writer) => void (await writer.run(`drop table ${table}`)))
  await database.close()
  for (const credential of [{ 'x-api-key': key }, { 'x-api-key': `mahi_000000000000_${'B'.repeat(43)}` }]) {
    const response = await fetch(`${url}${results}?pageSize=8`, { headers: { ...credential, eid: '1001' } })
    expect(response.status).toBe(500)
  }
  await run([...publish, SECRETS.token, '-'], lines(entry))
  await run(['keys', 'list'])

  // Another server, which can't have the port, and one whose database is not there.
  const taken = await mahi.run(['serve', '--port', new URL(url).port], { environment })
  const nowhere =
    engine === 'sqlite'
      ? `sqlite:${mahi.folder}/header.csv/mahi.db`
      : `postgres://marked:${SECRETS.databasePassword}@127.0.0.1:1/none`
  const lost = await mahi.run(['serve'], { environment: { ...environment, DATABASE_URL: nowhere } })
  expect([taken.code, lost.code]).toEqual([1, 1])
  said.push(taken.stdout, taken.stderr, lost.stdout, lost.stderr)

  command.kill('SIGTERM')
  const { code, stdout, stderr } = await command.ended
  expect([code, stderr]).toEqual([0, ''])

  const log = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  expect(log.filter((line) => kindOf(line) === undefined)).toEqual([])
  const seen = new Set(log.map(kindOf))
  expect([...seen].sort()).toEqual(Object.keys(KINDS).sort())
  for (const { err } of log.filter((line) => line.err !== undefined))
    expect(['type', 'code', 'message', 'stack']).toEqual(expect.arrayContaining(Object.keys(err as object)))

  const hidden = {
    ...SECRETS,
    key: key.slice(id.length + 1),
    doomedKey: String(doomed.key).slice(id.length + 1),
    wrongKey: 'A'.repeat(43),
    unknownKey: 'B'.repeat(43),
    jwt: jwt.split('.')[1] ?? '',
    signature: jwt.split('.')[2] ?? '',
    wrongJwt: wrongJwt.split('.')[1] ?? '',
    number: '410077410077',
  }
  for (const [name, secret] of Object.entries(hidden)) {
    expect([name, log.filter((line) => JSON.stringify(line).includes(secret))]).toEqual([name, []])
    expect([name, said.filter((text) => text.includes(secret))]).toEqual([name, []])
  }
})
