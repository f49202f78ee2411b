import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
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

test('names that every object has are unknown parameters like any other', async () => {
  const service = await Service.start()
  for (const given of [
    '__proto__=1',
    '__proto__[Limit]=1',
    'constructor=1',
    'constructor.prototype.Limit=1',
    'prototype=1',
    'toString=1',
    '__proto__.Limit=1',
  ])
    expect(await refuse(service, given)).toContain('is not a parameter of this endpoint')
  expect(Object.keys(Object.prototype)).toEqual([])
  const page = await service.get('/v1/occupations?Filter.MajorGroupCode=__proto__&Cursor=constructor')
  expect(page.json()).toEqual({ totalCount: 0, data: [], resultsCount: 0 })
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

test('a name that is nothing like a parameter is refused as well', async () => {
  const service = await Service.start()

  for (const given of [
    'page',
    'x',
    '%5F%5Fproto%5F%5F',
    'constructor',
    'hasOwnProperty',
    'Filter[x]',
    '%F0%9F%98%80',
  ]) {
    expect(await refuse(service, `${given}=1`)).toBe(
      `${decodeURIComponent(given)} is not a parameter of this endpoint. Supported parameters: ${SUPPORTED.join(', ')}.`,
    )
  }
  expect(await refuse(service, '=5')).toContain(
    'A parameter without a name is not a parameter of this endpoint',
  )
  expect(await refuse(service, `${'x'.repeat(99)}${'%F0%9F%98%80'.repeat(9)}=1`)).toContain('xxx')
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

test('a short query does not make a long answer', async () => {
  const service = await Service.start()

  const many = Array.from({ length: 2000 }, (_, index) => index.toString(36)).join('&')
  const detail = await refuse(service, many)
  expect(detail).toMatch(/Only the first 20 faults are listed\.$/)
  expect(detail.length).toBeLessThan(5000)
  expect((await refuse(service, `Limit=${'9'.repeat(7000)}`)).length).toBeLessThan(200)
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

/** Strings made of what queries are made of, and of what they never should be. */
const anyQuery = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          ...NAMES,
          'limit',
          'Limit=5',
          'Cursor=A',
          'L',
          '5',
          '%',
          '%4',
          '%C4%81',
          '%FF',
          '%00',
        ),
        fc.constantFrom(
          '=',
          '&',
          '+',
          ' ',
          ';',
          '?',
          '/',
          '#',
          '[',
          ']',
          "'",
          '"',
          '\\',
          '\t',
          '\u0000',
          '\ud83d',
        ),
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  fc.webQueryParameters(),
)

test('any query at all gets a page or a problem', async () => {
  const service = await Service.start()
  const records = makeCatalogue()
  await service.import(records, { keepDates: true })
  await fc.assert(
    fc.asyncProperty(anyQuery, async (query) => {
      const response = await ask(service, `/v1/occupations?${query}`)
      if (response.statusCode !== 200) {
        readRefusal(response, query)
        return
      }
      // What the page was asked for, as another reader of queries understands it.
      const asked = [...new URL(`http://mahi.example/?${query}`).searchParams].map(
        ([name, value]) => [name.toLowerCase(), value.normalize('NFC')] as const,
      )
      const names = asked.map(([name]) => name)
      expect(new Set(names).size).toBe(names.length)
      expect(NAMES.map((name) => name.toLowerCase())).toEqual(expect.arrayContaining(names))
      const values = Object.fromEntries(asked.filter(([, value]) => value !== ''))
      const filters = { major: values['filter.majorgroupcode'], minor: values['filter.minorgroupcode'] }
      if (names.some((name) => name.includes('updated') && values[name] !== undefined)) return
      const list = listMatches(records, filters)
      expect(response.json()).toEqual(pageOf(list, Number(values.limit ?? 20), values.cursor))
    }),
    cases(600),
  )
})

/** Bytes as they may stand in a header, read as Latin-1, as Node hands them over. */
const headerText = fc.oneof(
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((byte) => String.fromCharCode(byte)),
    maxLength: 40,
  }),
  fc
    .array(
      fc.constantFrom(
        '*',
        '*/*',
        'application/json',
        'br',
        'gzip',
        'identity',
        ';q=',
        '0',
        '1',
        '0.5',
        ',',
        ' ',
      ),
      {
        maxLength: 10,
      },
    )
    .map((parts) => parts.join('')),
  fc.constantFrom('W/"', '"', '1', '1.0', 'v1', 'Bearer x', 'Bearer', 'Basic eDp5'),
)
const NEUTRAL_HEADERS = [
  'accept-encoding',
  'user-agent',
  'cookie',
  'origin',
  'referer',
  'range',
  'if-match',
] as const
const ANY_HEADERS = [
  ...NEUTRAL_HEADERS,
  ...(['accept', 'if-none-match', 'x-api-version', 'x-api-key', 'authorization', 'x-client-id'] as const),
  ...(['if-modified-since', 'content-type', 'x-forwarded-for', 'x-request-id', 'eid', 'forwarded'] as const),
]

/** The statuses that a header can bring about, besides 200. */
const STATUS_OF: Readonly<Record<number, readonly string[]>> = {
  304: ['if-none-match'],
  400: ['x-api-version'],
  401: ['x-api-key', 'x-client-id'],
  406: ['accept'],
}

function decodeBody(response: LightMyRequestResponse): string {
  const encoding = response.headers['content-encoding']
  if (encoding === 'br') return brotliDecompressSync(response.rawPayload).toString()
  if (encoding === 'gzip') return gunzipSync(response.rawPayload).toString()
  expect(encoding).toBe(undefined)
  return response.body
}

test('any headers at all get the page or a problem that says which header was wrong', async () => {
  const service = await Service.start()
  await service.import(makeCatalogue(), { keepDates: true })
  const plain = (await ask(service, '/v1/occupations')).body
  const headers = fc.dictionary(fc.constantFrom(...ANY_HEADERS), headerText, { maxKeys: 4 })
  await fc.assert(
    fc.asyncProperty(headers, async (sent) => {
      const response = await ask(service, '/v1/occupations', sent)
      if (response.statusCode === 200) {
        expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
        expect(decodeBody(response)).toBe(plain)
        return
      }
      const reasons = STATUS_OF[response.statusCode] ?? []
      expect(Object.keys(sent).filter((name) => reasons.includes(name))).not.toEqual([])
      if (response.statusCode === 304) {
        expect(response.body).toBe('')
        return
      }
      expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(Object.keys(response.json())).toEqual(['type', 'title', 'status', 'detail', 'instance'])
    }),
    cases(400),
  )
})

/** Sends bytes to a port of this machine and answers all that comes back before the connection ends. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  const timer = setTimeout(() => socket.destroy(new Error('the service does not answer')), 10_000)
  try {
    socket.write(bytes)
    const parts: Buffer[] = []
    for await (const part of socket) parts.push(part as Buffer)
    return Buffer.concat(parts)
  } finally {
    clearTimeout(timer)
  }
}

test('any bytes in the query or in a header are answered over a socket too', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await service.import(makeCatalogue(), { keepDates: true })
  const url = new URL(await service.app.listen({ host: '127.0.0.1', port: 0 }))
  const plain = (await ask(service, '/v1/occupations')).body

  const bytes = fc
    .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.nat(255)), { maxLength: 30 })
    .map((list) => Buffer.from(list.filter((byte) => byte !== 0x0a && byte !== 0x0d)))
  const headerName = fc.constantFrom(
    ...['Accept', 'Accept-Encoding', 'If-None-Match', 'X-API-Version', 'X-API-Key', 'Authorization', 'X'],
    ...['Expect', 'Upgrade', 'Content-Type', 'Content-Length', 'Transfer-Encoding', 'Range', 'Origin'],
  )
  await fc.assert(
    fc.asyncProperty(
      fc.option(bytes, { freq: 1 }),
      headerName,
      fc.option(bytes),
      async (query, name, value) => {
        const answer = await exchange(
          Number(url.port),
          Buffer.concat([
            Buffer.from('GET /v1/occupations'),
            ...(query === null ? [] : [Buffer.from('?'), query]),
            Buffer.from(` HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n`),
            ...(value === null ? [] : [Buffer.from(`${name}: `), value, Buffer.from('\r\n')]),
            Buffer.from('\r\n'),
          ]),
        )
        const end = answer.indexOf('\r\n\r\n')
        const head = answer.subarray(0, end).toString('latin1').toLowerCase()
        const status = Number(/^http\/1\.1 (\d{3}) /.exec(head)?.[1])
        const type = /\r\ncontent-type: (.*)/.exec(head)?.[1]
        const body = answer.subarray(end + 4)
        if (status === 200) {
          expect(type).toBe('application/json; charset=utf-8')
          if (!head.includes('\r\ncontent-encoding:') && query === null) expect(body.toString()).toBe(plain)
        } else if (status !== 304) {
          // 503 as well: a busy machine makes the service shed load.
          expect([400, 401, 406, 417, 503]).toContain(status)
          expect(type).toBe('application/problem+json; charset=utf-8')
          const problem = JSON.parse(body.toString())
          expect(Object.keys(problem)).toEqual(['type', 'title', 'status', 'detail', 'instance'])
          expect(problem.status).toBe(status)
        }
      },
    ),
    cases(120),
  )
})
