import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { beforeEach, expect, test, vi } from 'vitest'
import { revokeKeys } from '../src/api/access/keys.ts'
import type { Database, Value } from '../src/foundation/database/database.ts'
import { findOwn } from '../src/submissions/submission/submission.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

/** Of the organisation 1001, that the key covers. */
const OWN = 'own-submission'
/** Of the organisation 1002, that the key covers too. */
const SECOND = 'second-submission'
/** Of the organisation 2001, that the key does not cover. */
const FOREIGN = 'foreign-submission'

let service: Service
let key: string

beforeEach(async () => {
  service = await Service.start({ RATE_LIMIT_RESULTS: '100000/60' })
  key = (await service.createKey({ client: 'vendor', eids: ['1001', '1002'] })).key
  for (const [token, eid] of [
    [OWN, '1001'],
    [SECOND, '1002'],
    [FOREIGN, '2001'],
  ] as const) {
    await service.publish([{ localId: token }], { token, eid })
  }
})

async function ask(token: string, headers: Record<string, string | undefined> = {}, query = '') {
  const url = `/v1/submissions/${token}/validation-results${query}`
  return await service.get(url, { 'x-api-key': key, eid: '1001', ...headers })
}

/** What a refusal says, without what differs from request to request. */
function strip(statusCode: number, headers: IncomingHttpHeaders, body: string) {
  const { 'x-request-id': id, date: _, ratelimit: __, ...rest } = headers
  const { instance, ...problem } = JSON.parse(body)
  expect(instance).toBe(`urn:uuid:${id}`)
  return { statusCode, headers: rest, problem }
}

const stripped = ({ statusCode, headers, body }: LightMyRequestResponse) =>
  strip(statusCode, headers as IncomingHttpHeaders, body)

test('the refusal is a problem body that says how to authenticate, and nothing of the reason', async () => {
  const response = await ask(OWN, { 'x-api-key': 'wrong' })
  expect(response.json()).toEqual({
    type: '/problems/unauthorized',
    title: 'The request is not authorised',
    status: 401,
    detail: expect.stringContaining('Send a valid key'),
    instance: `urn:uuid:${response.headers['x-request-id']}`,
  })
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(response.headers['www-authenticate']).toMatch(/^Bearer realm="[^"]+"/)
  expect(response.headers).not.toHaveProperty('etag')
})

test('with a valid key, every mistake is named, and its sentence is the same for every token', async () => {
  const narrow = (await service.createKey({ client: 'reader', eids: ['1001'], scopes: ['occupations:read'] }))
    .key
  const only = (await service.createKey({ client: 'only', eids: ['1001'] })).key
  const alone = (await service.createKey({ client: 'alone', eids: [] })).key
  const wide = (await service.createKey({ eids: ['1', '2', '3', '4', '5', '6'] })).key
  const both = 'This key covers organisations 1001 and 1002'
  const form = 'The header EID must be one identifier of 1 to 64 visible ASCII characters without a comma.'
  const missing = 'Send the header EID with the identifier of the organisation.'
  const scope = 'This key lacks the scope validation-results:read.'
  const mistakes: Record<string, readonly [Record<string, string | undefined>, string]> = {
    'no EID': [{ eid: undefined }, `${missing} ${both}.`],
    'an empty EID': [{ eid: '' }, `${missing} ${both}.`],
    'an EID that the key does not cover': [{ eid: '2001' }, `${both}, not 2001.`],
    'an EID that there is not': [{ eid: '9999' }, `${both}, not 9999.`],
    'an EID in other words': [{ eid: '01001' }, `${both}, not 01001.`],
    'an EID that is a property of every object': [{ eid: '__proto__' }, `${both}, not __proto__.`],
    'two EIDs in one': [{ eid: '1001, 1001' }, `${form} ${both}.`],
    'an EID that is not ASCII': [{ eid: 'm\u00e4hi' }, `${form} ${both}.`],
    'an EID of 65 characters': [{ eid: '1'.repeat(65) }, `${form} ${both}.`],
    'a key without the scope': [{ 'x-api-key': narrow }, scope],
    'a key without the scope and no EID': [{ 'x-api-key': narrow, eid: undefined }, scope],
    'a key without organisations': [{ 'x-api-key': alone }, 'This key covers no organisation.'],
    'a key of one organisation': [
      { 'x-api-key': only, eid: '1002' },
      'This key covers organisation 1001, not 1002.',
    ],
    'a key of many organisations': [{ 'x-api-key': wide }, 'This key covers 6 organisations, not 1001.'],
  }
  for (const [what, [headers, detail]] of Object.entries(mistakes)) {
    const refusals = await Promise.all(
      [OWN, FOREIGN, 'unknown-token', '%00'].map((each) => ask(each, headers)),
    )
    for (const response of refusals) {
      expect({ what, ...stripped(response) }).toMatchObject({ what, statusCode: 401, problem: { detail } })
      expect(stripped(response)).toEqual(stripped(refusals[0] as LightMyRequestResponse))
    }
  }
})

test('whatever a token is, the response is the same as to an unknown one', async () => {
  const reference = stripped(await ask('unknown-token'))
  expect(reference).toMatchObject({
    statusCode: 401,
    problem: { detail: 'Organisation 1001 has no submission with this token.' },
  })

  const refusals: Record<string, LightMyRequestResponse> = {
    "another organisation's token": await ask(FOREIGN),
    'a token of another organisation that the key covers': await ask(SECOND),
    'an empty token': await ask(''),
    'a token in other letters': await ask(OWN.toUpperCase()),
    'a token and more': await ask(`${OWN}x`),
    'a token with a space': await ask(`${OWN}%20`),
    'a token with a NUL': await ask(`${OWN}%00`),
    'a NUL alone': await ask('%00'),
    'a token with a slash': await ask(`${OWN}%2F..%2F${OWN}`),
    'a token with two dots': await ask(`..%2f..%2fetc`),
    'a token of 5,000 characters': await ask('a'.repeat(5000)),
    'a token that is not ASCII': await ask('m%C4%81hi-%F0%9F%98%80'),
    'a token with a quote': await ask(`${OWN}'%20or%20'1'='1`),
    'a token with wildcards': await ask('%25'),
    'a token with a line end': await ask(`${OWN}%0d%0ax-injected:1`),
    'wrong parameters': await ask(FOREIGN, {}, '?page=0&pagee=2'),
    'a page past the end': await ask(FOREIGN, {}, '?page=99'),
    'an ETag that fits anything': await ask(FOREIGN, { 'if-none-match': '*' }),
    'an Accept without JSON': await ask(FOREIGN, { accept: 'text/html' }),
  }
  for (const [what, response] of Object.entries(refusals)) {
    expect({ what, ...stripped(response) }).toEqual({ what, ...reference })
  }
})

test('without a valid credential the response is the same, whatever else is right or wrong', async () => {
  const reference = stripped(await ask('unknown-token', { 'x-api-key': undefined, eid: undefined }))
  expect(reference.statusCode).toBe(401)
  const narrow = await service.createKey({ eids: [], scopes: [] })
  const expired = await service.createKey({ eids: ['1001'], expires: Date.now() - 1 })
  const credentials: Record<string, Record<string, string | undefined>> = {
    'no key': { 'x-api-key': undefined },
    'an unknown key': { 'x-api-key': `mahi_0123456789ab_${'A'.repeat(43)}` },
    'an expired key': { 'x-api-key': expired.key },
    'another client': { 'x-client-id': 'somebody' },
    'another client, and no scope': { 'x-api-key': narrow.key, 'x-client-id': 'somebody' },
  }
  for (const [what, headers] of Object.entries(credentials))
    for (const eid of [undefined, '1001', '2001', '1001, 1002'])
      for (const token of [OWN, FOREIGN, 'unknown-token']) {
        const response = stripped(await ask(token, { ...headers, eid }))
        expect({ what, eid, token, ...response }).toEqual({ what, eid, token, ...reference })
      }
})

/** What a refusal asks of the database, and what it is handed: how long it takes follows from that. */
async function watchQueries(ask: () => Promise<LightMyRequestResponse>) {
  const { database } = service
  const get = database.get.bind(database)
  const queries: { sql: string; found: boolean }[] = []
  const watched: Database['get'] = async <Row>(sql: string, parameters?: readonly Value[]) => {
    const row = await get<Row>(sql, parameters)
    // The service looks for a search index on its own, whatever is asked.
    if (!/search_(?:index|failure)/.test(sql)) queries.push({ sql, found: row !== undefined })
    return row
  }
  Object.assign(database, { get: watched })
  try {
    expect((await ask()).statusCode).toBe(401)
  } finally {
    Object.assign(database, { get })
  }
  return queries
}

test('every refusal takes the same work: one query without a result, or none for a wrong key', async () => {
  const narrow = (await service.createKey({ eids: ['1001'], scopes: ['occupations:read'] })).key
  for (const each of [key, narrow]) await ask(OWN, { 'x-api-key': each })
  const reference = await watchQueries(() => ask('unknown-token'))
  expect(reference).toEqual([{ sql: expect.stringContaining('from submission'), found: false }])

  const refusals: Record<string, () => Promise<LightMyRequestResponse>> = {
    "another organisation's token": () => ask(FOREIGN),
    "another organisation's token and EID": () => ask(FOREIGN, { eid: '2001' }),
    'an EID that the key covers, of another submission': () => ask(OWN, { eid: '1002' }),
    'an EID that the key does not cover': () => ask(OWN, { eid: '2001' }),
    'no EID': () => ask(OWN, { eid: undefined }),
    'a malformed token': () => ask('%00'),
    'a key without the scope': () => ask(OWN, { 'x-api-key': narrow }),
  }
  for (const [what, refuse] of Object.entries(refusals)) {
    expect({ what, queries: await watchQueries(refuse) }).toEqual({ what, queries: reference })
  }

  const expired = await service.createKey({ eids: ['1001'], expires: Date.now() - 1 })
  const revoked = await service.createKey({ eids: ['1001'] })
  await ask(OWN, { 'x-api-key': revoked.key })
  await revokeKeys(service.database, [revoked.id])
  await service.revisions.refresh()
  // A valid request reads what the revision changed, so that the others are compared on their own.
  expect((await ask(OWN)).statusCode).toBe(200)
  const invalid: Record<string, Record<string, string>> = {
    unknown: { 'x-api-key': `mahi_0123456789ab_${'A'.repeat(43)}` },
    'no key by its form': { 'x-api-key': 'wrong' },
    'another secret': { 'x-api-key': key.slice(0, 18) + 'A'.repeat(43) },
    expired: { 'x-api-key': expired.key },
    revoked: { 'x-api-key': revoked.key },
    'a valid key of another client': { 'x-client-id': 'somebody' },
  }
  for (const [what, headers] of Object.entries(invalid))
    for (const token of [OWN, FOREIGN, 'unknown-token']) {
      // Whether the keys have changed is read for every key that is not known to be valid.
      const refresh = vi.spyOn(service.revisions, 'refresh').mockResolvedValue(undefined)
      const queries = await watchQueries(() => ask(token, headers))
      expect({ what, token, queries }).toEqual({ what, token, queries: [] })
      expect(refresh).toHaveBeenCalled()
      refresh.mockRestore()
    }
  // A wrong client does not make the service forget the right one.
  expect((await ask(OWN, { 'x-client-id': 'vendor' })).statusCode).toBe(200)
})

test('refusals do not distinguish tokens, whatever the EID', async () => {
  const token = fc.oneof(
    fc.constantFrom(FOREIGN, SECOND),
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 40 })
      .filter((each) => each.isWellFormed() && each !== OWN && each !== '.' && each !== '..')
      .map(encodeURIComponent),
  )
  const eid = fc.oneof(fc.constantFrom('1001', '2001', ''), fc.stringMatching(/^[!-~]{0,10}$/))
  await fc.assert(
    fc.asyncProperty(token, eid, async (each, organisation) => {
      const reference = stripped(await ask('unknown-token', { eid: organisation }))
      expect(stripped(await ask(each, { eid: organisation }))).toEqual(reference)
    }),
    cases(20),
  )
})

test('a submission is found by its token, however many its organisation has and without statistics', async () => {
  const { database } = service
  await database.write('job:test', async (writer) => {
    const rows = Array.from({ length: 500 }, (_, index) => [`other-${index}`, '1001', 'r', 0, 0, 0, 0])
    await writer.load('submission', ['token', 'eid', 'return_id', 'run', 'total', 'published', 'runs'], rows)
  })
  let plan = ''
  const planning = (values: readonly Value[], sql: string) =>
    database.dialect.name === 'sqlite'
      ? database.all(`explain query plan ${sql}`, values)
      : database.all(`explain ${sql.replace(/\$(\d)/g, (_, place) => `'${values[Number(place) - 1]}'`)}`)
  const reader = new Proxy(database, {
    get: (target, name) =>
      name === 'get'
        ? async (sql: string, values: readonly Value[]) => {
            plan = JSON.stringify(await planning(values, sql))
          }
        : Reflect.get(target, name),
  })
  expect(await findOwn(reader, '1001', 'other-1')).toBeUndefined()
  expect(plan).toMatch(/token/)
  expect(plan).not.toContain('submission_by_eid')
})
