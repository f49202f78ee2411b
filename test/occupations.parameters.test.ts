import type { LightMyRequestResponse } from 'fastify'
import { expect, test } from 'vitest'
import { ask, get, type OccupationPage } from './support/catalogue.ts'
import { Service } from './support/service.ts'

const NAMES = [
  'Limit',
  'Cursor',
  'Filter.MajorGroupCode',
  'Filter.MinorGroupCode',
  'Filter.LastUpdatedAfter',
  'Filter.LastUpdatedBefore',
] as const
/** The parameters of the specification and those that Mahi adds, in the order in which messages list them. */
const SUPPORTED = [...NAMES.slice(0, 4), 'Filter.GroupRelation', 'Filter.Codes', 'Fields', ...NAMES.slice(4)]
const TEXTS = ['Cursor', 'Filter.MajorGroupCode', 'Filter.MinorGroupCode'] as const

/** The detail of a 400, whose body has to be exactly what section 2.10 of the interface lists. */
function readRefusal(response: LightMyRequestResponse, what = response.body): string {
  expect(response.statusCode, what).toBe(400)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.headers).not.toHaveProperty('etag')
  expect(response.headers).not.toHaveProperty('link')
  const body = response.json()
  expect(body).toEqual({
    type: '/problems/invalid-parameters',
    title: 'A parameter is invalid',
    status: 400,
    detail: expect.any(String),
    instance: `urn:uuid:${response.headers['x-request-id']}`,
  })
  expect(body.detail.isWellFormed()).toBe(true)
  return body.detail
}

async function refuse(service: Service, query: string): Promise<string> {
  return readRefusal(await ask(service, `/v1/occupations?${query}`), query)
}

test('a parameter that is wrong is answered with a problem body, as openapi.json describes it', async () => {
  const service = await Service.start()

  for (const query of ['Limit=0', 'Limit=1&limit=1', 'Limt=1', 'Cursor=%FF', 'Filter.LastUpdatedAfter=now']) {
    readRefusal(await get(service, `/v1/occupations?${query}`))
  }
})

test('a Limit that is not a whole number from 1 to 100 is refused, never coerced or clamped', async () => {
  const service = await Service.start()

  for (const written of [
    ...['1e2', '0x10', '%2B5', '+5', '%205%20', '5.0', '1_0', '5%00', '5%0A', '0', '-1', '101', '1000'],
    ...['4294967301', '1'.repeat(40), 'NaN', 'null', 'twenty', '%20', '%D9%A5', '[5]', '"5"'],
  ]) {
    const detail = await refuse(service, `Limit=${written}`)
    expect(detail).toMatch(/^Limit must be a whole number from 1 to 100, not ".+"\.$/s)
  }
})

test('a parameter that is given more than once is refused, also in another case or without a value', async () => {
  const service = await Service.start()

  for (const query of [
    'Limit=5&Limit=5',
    'Limit=5&Limit=6',
    'Limit=5&limit=5',
    'LIMIT=&Limit=5',
    'Limit&Limit=5',
    'Limit=5&Cursor=A&L%69mit=5',
    'Limit=x&Limit=5',
  ]) {
    expect(await refuse(service, query)).toContain('Limit must be given only once.')
  }
  for (const name of NAMES) {
    expect(await refuse(service, `${name}=&${name.toLowerCase()}=`)).toBe(`${name} must be given only once.`)
  }
})

test('an unknown parameter is refused, and the nearest name is suggested', async () => {
  const service = await Service.start()

  for (const [given, name] of [
    ['Limt', 'Limit'],
    ['Filter_MajorGroupCode', 'Filter.MajorGroupCode'],
    ['LastUpdatedBefore', 'Filter.LastUpdatedBefore'],
    ['%EF%BB%BFLimit', 'Limit'],
  ] as const) {
    for (const value of ['', '=', '=5']) {
      const detail = await refuse(service, `${given}${value}`)
      expect(detail).toContain(`is not a parameter of this endpoint (did you mean "${name}"?)`)
      expect(detail).toContain(`Supported parameters: ${SUPPORTED.join(', ')}.`)
    }
  }
})

test('an operation without parameters says that it has none', async () => {
  const service = await Service.start()
  const message = 'x is not a parameter: this endpoint has none.'
  // What the interface does not specify names each value for programs, too.
  expect((await ask(service, '/v1/me?x=1')).json()).toMatchObject({
    detail: message,
    errors: { x: [message] },
  })
})

test('percent-encoding that is not UTF-8 is refused, in a name and in a value', async () => {
  const service = await Service.start()

  for (const wrong of [
    ...['%', '%4', '%zz', '%4g', 'A%', '%%41', '%u0101'],
    // Bytes of no character, cut off, overlong, of a lone surrogate, past the last code point, Latin-1.
    ...['%FF', '%C4', '%E2%82', '%C0%80', '%C1%81', '%ED%A0%80', '%ED%A0%80%ED%B0%80', '%F4%90%80%80', '%E9'],
  ]) {
    for (const name of NAMES) {
      expect(await refuse(service, `${name}=${wrong}`)).toBe(`${name} must be percent-encoded UTF-8.`)
    }
    expect(await refuse(service, `Limit${wrong}=5`)).toBe(
      'A parameter has a name that is not percent-encoded UTF-8.',
    )
  }
})

test('control characters are refused', async () => {
  const service = await Service.start()

  for (const [written, name] of [
    ['%00', 'U+0000'],
    ['A%07', 'U+0007'],
    ['%1F', 'U+001F'],
    ['A%7F', 'U+007F'],
    ['%C2%80', 'U+0080'],
    ['A%C2%9FB', 'U+009F'],
  ]) {
    for (const parameter of TEXTS) {
      expect(await refuse(service, `${parameter}=${written}`)).toBe(
        `${parameter} has the control character ${name}.`,
      )
    }
  }
})

test('a cursor or a code of more than 64 characters is refused', async () => {
  const service = await Service.start()

  for (const parameter of TEXTS) {
    expect(await refuse(service, `${parameter}=${'A'.repeat(65)}`)).toBe(
      `${parameter} is 65 characters long; at most 64 are allowed.`,
    )
    await refuse(service, `${parameter}=${'%C4%81'.repeat(65)}`)
    for (const fitting of [
      'A'.repeat(64),
      '%C4%81'.repeat(64),
      'a%CC%84'.repeat(64),
      '%F0%9F%98%80'.repeat(64),
    ]) {
      expect((await ask(service, `/v1/occupations?${parameter}=${fitting}`)).statusCode).toBe(200)
    }
  }
})

test('every parameter that is wrong is named at once', async () => {
  const service = await Service.start()

  const detail = await refuse(
    service,
    'Limit=0&Cursor=%00&Filter.LastUpdatedAfter=now&Filter.MajorGroupCode=1&x=1',
  )
  expect(detail.match(/(?:^|\. )(\S+) (?:is|has|must)/g)).toEqual([
    'Limit must',
    '. Cursor has',
    '. Filter.LastUpdatedAfter must',
    '. x is',
  ])
})

test('faults of the path count among the 20 that are listed', async () => {
  const service = await Service.start()

  const names = Array.from({ length: 30 }, (_, index) => `x${index}`)
  const { detail } = (await ask(service, `/v1/occupation-revisions/first?${names.join('&')}`)).json()
  expect(detail).toMatch(/^revision must .* x18 is .* At most 20 faults are listed\.$/)
  expect(detail).not.toContain('x19 is')
})

test('names match without regard to case, in any order, with empty pairs between them', async () => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))

  for (const query of [
    'Limit=1&Cursor=B',
    'Limit=1&Cursor=B&Filter.MajorGroupCode=&Filter.LastUpdatedAfter=',
    'limit=1&cursor=B',
    'CURSOR=B&LIMIT=1',
    '&&lImIt=1&&cUrSoR=B&',
    'Cu%72sor=%42&Lim%69t=%31',
  ]) {
    const page = (await ask(service, `/v1/occupations?${query}`)).json<OccupationPage>()
    expect(page).toMatchObject({ currentCursor: 'B', nextCursor: 'C', resultsCount: 1 })
  }
})
