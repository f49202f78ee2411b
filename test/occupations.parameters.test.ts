import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { expect, test } from 'vitest'
import {
  ask,
  codes,
  contents,
  type Filters,
  get,
  listMatches,
  MAJOR_CODES,
  MINOR_CODES,
  type OccupationPage,
  pageOf,
  type SampleRecord,
  writtenBound,
} from './support/catalogue.ts'
import { cases, sample } from './support/properties.ts'
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
    ...['1e2', '0x10', '0b1', '%2B5', '+5', '%205%20', '5+', '5.0', '5.', '.5', '1,0', '1_0', '5%00', '5%0A'],
    '0',
    '-0',
    '-1',
    '101',
    '1000',
    '256',
    '65537',
    '2147483647',
    '2147483648',
    '4294967301',
    '1'.repeat(40),
    ...['NaN', 'Infinity', '-Infinity', 'null', 'true', 'twenty', '%20', '%D9%A5', '%EF%BC%95', '5;', '5%26'],
    ...['[5]', '{}', '"5"', '5n', '9007199254740993'],
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
    ['limits', 'Limit'],
    ['cursr', 'Cursor'],
    ['Filter.MajorGroupCodes', 'Filter.MajorGroupCode'],
    ['Filter_MajorGroupCode', 'Filter.MajorGroupCode'],
    ['Filter.MinorGroup', 'Filter.MinorGroupCode'],
    ['filter.majourgroupcode', 'Filter.MajorGroupCode'],
    ['Filter.LastUpdateAfter', 'Filter.LastUpdatedAfter'],
    ['LastUpdatedBefore', 'Filter.LastUpdatedBefore'],
    ['Limit%20', 'Limit'],
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
  expect(readRefusal(await ask(service, '/v1/me?x=1'))).toBe('x is not a parameter: this endpoint has none.')
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
  const detail = readRefusal(await ask(service, `/v1/occupation-revisions/first?${names.join('&')}`))
  expect(detail).toMatch(/^revision must .* x18 is .* Only the first 20 faults are listed\.$/)
  expect(detail).not.toContain('x19 is')
})

test('names match without regard to case, in any order, with empty pairs between them', async () => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))

  for (const query of [
    'Limit=1&Cursor=B',
    'limit=1&cursor=B',
    'CURSOR=B&LIMIT=1',
    '&&lImIt=1&&cUrSoR=B&',
    'Cu%72sor=%42&Lim%69t=%31',
  ]) {
    const page = (await ask(service, `/v1/occupations?${query}`)).json<OccupationPage>()
    expect(page).toMatchObject({ currentCursor: 'B', nextCursor: 'C', resultsCount: 1 })
  }
})

interface Choice {
  readonly text: string
  /** What the parameter then asks for; `undefined` where it is wrong. */
  readonly asks: (Filters & { limit?: number; cursor?: string }) | undefined
}

const wrong = (...texts: readonly string[]): fc.Arbitrary<Choice> =>
  fc.constantFrom(...texts).map((text) => ({ text, asks: undefined }))
const right = <T>(
  values: fc.Arbitrary<T>,
  asks: (value: T) => Choice['asks'],
  write = String as (value: T) => string,
) =>
  fc.oneof(
    { weight: 6, arbitrary: values.map((value): Choice => ({ text: write(value), asks: asks(value) })) },
    { weight: 1, arbitrary: fc.constant<Choice>({ text: '', asks: {} }) },
  )
const mostly = (fine: fc.Arbitrary<Choice>, bad: fc.Arbitrary<Choice>) =>
  fc.oneof({ weight: 8, arbitrary: fine }, { weight: 1, arbitrary: bad })

const DATES = Array.from({ length: 5 }, (_, index) => Date.parse('2024-05-01T00:00:00Z') + index)
const badCode = wrong('\u0000', 'a\u0085', 'ā'.repeat(65))
const badTime = wrong('now', '2024-05-01', '2024-02-30T00:00:00Z', '2024-05-01T00:00:00Z+', ' ')
const times = writtenBound(fc.constantFrom(...DATES))

/** For each parameter, values that are right or wrong, and what each of them means. */
const choices: Record<(typeof NAMES)[number], fc.Arbitrary<Choice>> = {
  Limit: mostly(
    right(fc.integer({ min: 1, max: 100 }), (limit) => ({ limit })),
    wrong('0', '101', '1e1', '+5', '5 ', '٥'),
  ),
  Cursor: mostly(
    right(codes, (cursor) => ({ cursor })),
    badCode,
  ),
  'Filter.MajorGroupCode': mostly(
    right(fc.constantFrom(...MAJOR_CODES), (major) => ({ major })),
    badCode,
  ),
  'Filter.MinorGroupCode': mostly(
    right(fc.constantFrom(...MINOR_CODES), (minor) => ({ minor })),
    badCode,
  ),
  'Filter.LastUpdatedAfter': mostly(
    right(
      times,
      (after) => ({ after }),
      ({ text }) => text,
    ),
    badTime,
  ),
  'Filter.LastUpdatedBefore': mostly(
    right(
      times,
      (before) => ({ before }),
      ({ text }) => text,
    ),
    badTime,
  ),
}

const given = fc
  .subarray([...NAMES])
  .chain((names) => fc.shuffledSubarray(names, { minLength: names.length }))
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc.record({ name: fc.constant(name), choice: choices[name], noise: fc.infiniteStream(fc.nat(3)) }),
      ),
    ),
  )

/** One of the many ways to write a text in a query; the + of an offset may go unencoded. */
function encode(text: string, noise: Iterator<number>, isTime = false): string {
  return [...text]
    .map((letter) => {
      const way = noise.next().value
      if (letter === ' ') return way === 0 ? '+' : '%20'
      if (letter === '+' && isTime && way === 0) return '+'
      if (/[A-Za-z0-9.:_~-]/.test(letter) && way !== 0) return letter
      const bytes = [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
      return way === 1 ? bytes.join('').toUpperCase() : bytes.join('')
    })
    .join('')
}

function changeCase(name: string, noise: Iterator<number>): string {
  return [...name]
    .map((letter) => (noise.next().value === 0 ? letter.toUpperCase() : letter.toLowerCase()))
    .join('')
}

function makeCatalogue(): SampleRecord[] {
  return sample(fc.tuple(codes, contents), 40)
    .filter(([code], index, all) => all.findIndex(([other]) => other === code) === index)
    .map(([occupationCode, content], index) => ({
      occupationCode,
      ...content,
      lastUpdatedDate: new Date(DATES[index % DATES.length] ?? 0).toISOString(),
    }))
}

test('any query of known parameters, however it is written, gets its page or a description of its faults', async () => {
  const service = await Service.start()
  const records = makeCatalogue()
  await service.import(records, { keepDates: true })
  await fc.assert(
    fc.asyncProperty(given, async (parameters) => {
      const query = parameters
        .map(({ name, choice, noise }) => {
          const isTime = name.startsWith('Filter.LastUpdated')
          return `${encode(changeCase(name, noise), noise)}=${encode(choice.text, noise, isTime)}`
        })
        .join('&')
      const response = await ask(service, `/v1/occupations?${query}`)
      const faulty = parameters.filter(({ choice }) => choice.asks === undefined).map(({ name }) => name)
      if (faulty.length > 0) {
        const detail = readRefusal(response, query)
        expect(NAMES.filter((name) => detail.includes(`${name} `)).sort()).toEqual(faulty.sort())
        return
      }
      const asked: NonNullable<Choice['asks']> = Object.assign(
        {},
        ...parameters.map(({ choice }) => choice.asks),
      )
      expect(response.statusCode, response.body).toBe(200)
      expect(response.json()).toEqual(pageOf(listMatches(records, asked), asked.limit ?? 20, asked.cursor))
    }),
    cases(300),
  )
})
