import fc from 'fast-check'

/** Ways in which a request may be put together; what they come to is decided when it is sent. */
const weighted = <T>(...choices: readonly (readonly [weight: number, value: T])[]) =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })))

const anyOf = fc.nat(10_000)

const anyReading = fc.record({
  replica: fc.nat(1),
  method: weighted([4, 'GET' as const], [1, 'HEAD' as const]),
  prefix: weighted([6, '/v1'], [1, '/v1.0'], [1, ''], [1, '/v9']),
  version: weighted([9, undefined], [2, '1'], [1, '9']),
  operation: weighted([6, 'results' as const], [1, 'occupations' as const]),
  submission: anyOf,
  token: weighted(
    [12, 'own' as const],
    [1, 'percent-encoded' as const],
    [2, 'never existed' as const],
    [1, 'longer' as const],
    [1, 'in other letters' as const],
    [1, 'malformed' as const],
  ),
  credential: weighted(
    [8, 'fitting' as const],
    [4, 'any' as const],
    [1, 'none' as const],
    [1, 'unknown' as const],
    [1, 'of another secret' as const],
    [1, 'malformed' as const],
    [1, 'two of them' as const],
  ),
  which: anyOf,
  bearer: fc.boolean(),
  eid: weighted(
    [10, "the submission's" as const],
    [2, "the credential's" as const],
    [2, 'any' as const],
    [1, 'never existed' as const],
    [1, 'missing' as const],
    [1, 'empty' as const],
    [1, 'twice' as const],
    [1, 'two of them' as const],
  ),
  client: weighted(
    [6, 'missing' as const],
    [3, 'right' as const],
    [1, 'of another' as const],
    [1, 'empty' as const],
  ),
  page: weighted(
    [6, undefined],
    [3, '1'],
    [3, '2'],
    [1, '3'],
    [1, '9'],
    [1, '0'],
    [1, 'x'],
    [1, '2147483648'],
  ),
  pageSize: weighted([4, undefined], [2, '1'], [3, '2'], [2, '5'], [1, '1000'], [1, '1001'], [1, '0']),
  also: weighted([20, undefined], [1, ['pagee', '1'] as const], [1, ['page', '1'] as const]),
  filter: fc.record({
    Limit: weighted([2, undefined], [2, '3'], [1, '100'], [1, '0']),
    Cursor: weighted([2, undefined], [2, 'C07'], [1, 'D']),
    'Filter.MinorGroupCode': weighted([2, undefined], [2, '1'], [1, 'none']),
  }),
  condition: weighted(
    [6, 'none' as const],
    [3, 'this page' as const],
    [2, 'other pages' as const],
    [1, 'all pages' as const],
    [1, 'anything' as const],
  ),
  encoding: weighted(
    [3, undefined],
    [1, 'br'],
    [1, 'gzip'],
    [1, 'gzip, br;q=0.5'],
    [1, 'identity'],
    [1, '*'],
  ),
  accept: weighted([8, undefined], [1, 'application/json'], [1, 'text/html']),
})
export type Reading = typeof anyReading extends fc.Arbitrary<infer T> ? T : never

/** What of a request may be wrong, and how it is right. */
const RIGHT = {
  token: { token: 'own' },
  credential: { credential: 'fitting' },
  eid: { eid: "the submission's" },
  client: { client: 'missing' },
  version: { prefix: '/v1', version: undefined },
  parameters: { page: undefined, also: undefined, accept: undefined },
} as const satisfies Record<string, Partial<Reading>>
const FACETS = Object.keys(RIGHT) as (keyof typeof RIGHT)[]

/** At random nearly every request would be refused, for more than one reason: most have one or none. */
const reading: fc.Arbitrary<Reading> = fc
  .tuple(
    anyReading,
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<(keyof typeof RIGHT)[]>([], ['parameters']) },
      { weight: 4, arbitrary: fc.constantFrom(...FACETS).map((facet): (keyof typeof RIGHT)[] => [facet]) },
      { weight: 2, arbitrary: fc.subarray(FACETS, { minLength: 2 }) },
    ),
  )
  .map(([any, free]) =>
    Object.assign({}, any, ...FACETS.filter((facet) => !free.includes(facet)).map((facet) => RIGHT[facet])),
  )

const SCOPES = ['occupations:read', 'validation-results:read'] as const
const rights = {
  organisations: fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 0, maxLength: 3 }),
  scopes: weighted([6, [...SCOPES]], [1, [SCOPES[0]]], [1, [SCOPES[1]]]),
  client: fc.nat(3),
}

const key = fc.record({
  step: fc.constant('create a key' as const),
  ...rights,
  /** Milliseconds. */
  life: weighted([1, -1], [2, 1_000], [2, 60_000], [6, 86_400_000]),
})

const jwt = fc.record({
  step: fc.constant('issue a JWT' as const),
  ...rights,
  claim: weighted([2, 'a list' as const], [1, 'a text' as const]),
  /** Seconds: 60 of them are added for clocks that differ. */
  life: weighted([1, -3600], [1, -59], [1, 1], [2, 30], [4, 86_400]),
  flaw: weighted(
    [6, 'none' as const],
    [1, 'another audience' as const],
    [1, 'another issuer' as const],
    [1, 'forged' as const],
    [1, 'not signed' as const],
  ),
})

const publishing = fc.record({
  step: fc.constant('publish' as const),
  organisation: fc.nat(5),
  count: fc.nat(12),
  long: fc.boolean(),
  to: weighted(
    [4, 'an own submission' as const],
    [2, 'a new token' as const],
    [2, 'a token of choice' as const],
  ),
  which: anyOf,
  flaw: weighted(
    [8, 'none' as const],
    [1, 'an entry' as const],
    [1, "another organisation's token" as const],
  ),
})
export type Publishing = typeof publishing extends fc.Arbitrary<infer T> ? T : never

/** Something that somebody does. */
export const step = fc.oneof(
  { weight: 60, arbitrary: fc.record({ step: fc.constant('read' as const), reading }) },
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant('read at once' as const),
      readings: fc.array(reading, { minLength: 2, maxLength: 8 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constant('read during a publish' as const),
      publishing,
      readings: fc.array(reading, { minLength: 2, maxLength: 8 }),
    }),
  },
  { weight: 8, arbitrary: publishing },
  { weight: 6, arbitrary: key },
  { weight: 4, arbitrary: jwt },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constant('revoke a key' as const), which: anyOf, told: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('let time pass' as const),
      milliseconds: fc.constantFrom(999, 1_000, 30_000, 61_000, 3_600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('import' as const), which: anyOf }) },
)
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
