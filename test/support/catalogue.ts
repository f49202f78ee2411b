import { setImmediate as takeTurn } from 'node:timers/promises'
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { findLostCharacters } from '../../src/foundation/text/mojibake.ts'
import { assertDescribed } from './contract.ts'
import type { Service } from './service.ts'

/** A record with the fields that filters look at, and a title to change. */
export interface SampleRecord {
  readonly occupationCode: string
  readonly titleEnglish?: string
  readonly minorGroups?: readonly {
    readonly minorGroupRelationType?: 'Primary' | 'Secondary'
    readonly minorGroup: {
      readonly code: string
      readonly majorGroups?: readonly {
        readonly majorGroupRelationType?: 'Primary' | 'Secondary'
        readonly majorGroup: { readonly code: string }
      }[]
    }
  }[]
  readonly lastUpdatedDate?: string
}

/** A bound of a window: a whole number of milliseconds, digits that follow them, and one way to write both. */
export interface Bound {
  readonly milliseconds: number
  readonly digits: string
  readonly text: string
}

export interface Filters {
  readonly major?: string | undefined
  readonly minor?: string | undefined
  /** Whether only Primary relations to groups count. */
  readonly primaryOnly?: boolean
  readonly after?: Bound | undefined
  readonly before?: Bound | undefined
}

/** The response of section 2.1, as far as the tests look into it. */
export interface OccupationPage {
  readonly nextCursor?: string
  readonly currentCursor?: string
  readonly totalCount: number
  readonly data: readonly (SampleRecord & { readonly lastUpdatedDate: string })[]
  readonly resultsCount: number
}

/** The order of the catalogue. UTF-8 keeps the order of code points, which JavaScript's own comparison does not. */
export function compareCodes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** The records that match, in their order, found by looking at each of them. */
export function listMatches<T extends SampleRecord>(records: readonly T[], filters: Filters): T[] {
  return records
    .filter((record) => matches(record, filters))
    .sort((one, other) => compareCodes(one.occupationCode, other.occupationCode))
}

function matches(
  record: SampleRecord,
  { major, minor, primaryOnly = false, after, before }: Filters,
): boolean {
  const minors = (record.minorGroups ?? [])
    .filter(({ minorGroupRelationType }) => !primaryOnly || minorGroupRelationType === 'Primary')
    .map(({ minorGroup }) => minorGroup)
  const majors = minors.flatMap(({ majorGroups = [] }) =>
    majorGroups
      .filter(({ majorGroupRelationType }) => !primaryOnly || majorGroupRelationType === 'Primary')
      .map(({ majorGroup }) => majorGroup.code),
  )
  const date = Date.parse(record.lastUpdatedDate ?? '')
  return (
    (major === undefined || majors.includes(major)) &&
    (minor === undefined || minors.some(({ code }) => code === minor)) &&
    (after === undefined || date > after.milliseconds) &&
    (before === undefined || date < before.milliseconds || (date === before.milliseconds && hasRest(before)))
  )
}

function hasRest({ digits }: Bound): boolean {
  return /[1-9]/.test(digits)
}

/** The page that a list has at a cursor. */
export function pageOf(list: readonly SampleRecord[], limit: number, cursor = ''): OccupationPage {
  const first =
    cursor === '' ? 0 : list.findIndex(({ occupationCode }) => compareCodes(occupationCode, cursor) >= 0)
  const rest = first === -1 ? [] : list.slice(first)
  const data = rest.slice(0, limit) as OccupationPage['data']
  const [start, next] = [data[0], rest[limit]]
  return {
    ...(next === undefined ? {} : { nextCursor: next.occupationCode }),
    ...(start === undefined ? {} : { currentCursor: start.occupationCode }),
    totalCount: list.length,
    data,
    resultsCount: data.length,
  }
}

/** The address of a page. */
export function addressOf(filters: Filters, page: { limit?: number; cursor?: string } = {}): string {
  const parameters = {
    Limit: page.limit,
    Cursor: page.cursor,
    'Filter.MajorGroupCode': filters.major,
    'Filter.MinorGroupCode': filters.minor,
    'Filter.GroupRelation': filters.primaryOnly === true ? 'Primary' : undefined,
    'Filter.LastUpdatedAfter': filters.after?.text,
    'Filter.LastUpdatedBefore': filters.before?.text,
  }
  const query = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `/v1/occupations?${query.join('&')}`
}

/** Asks the service without checking the answer against openapi.json, for tests that ask hundreds of times. */
export async function ask(
  service: Service,
  url: string,
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  await takeTurn()
  return await service.app.inject({ url, headers: { 'x-api-key': service.key, ...headers } })
}

/** Asks as `ask` does, and checks the answer against openapi.json. */
export async function get(
  service: Service,
  url: string,
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  const response = await ask(service, url, headers)
  assertDescribed({ url }, response)
  return response
}

/** Asks for a page that has to be there. */
export async function askPage(service: Service, url: string): Promise<OccupationPage> {
  const response = await ask(service, url)
  if (response.statusCode !== 200)
    throw new Error(`${url} is answered ${response.statusCode}: ${response.body}`)
  return response.json<OccupationPage>()
}

/** Every page from the first on, each asked for with the `nextCursor` of the one before. */
export async function* walkPages(
  service: Service,
  filters: Filters,
  limit: number,
): AsyncGenerator<OccupationPage> {
  let cursor: string | undefined
  for (let pages = 0; pages < 1000; pages++) {
    const page = await askPage(
      service,
      addressOf(filters, { limit, ...(cursor !== undefined && { cursor }) }),
    )
    yield page
    cursor = page.nextCursor
    if (cursor === undefined) return
  }
  throw new Error('the walk does not end')
}

/** Letters whose order differs between code points and UTF-16, that need encoding, or that differ only in a mark. */
const LETTERS = [...'AZaz09-āĀēaeé', '\uffe6', '\ue000', '\u{10000}', '\u{1f600}', ...`&%+ /#?="'<>;,`]

/** Codes as they are stored: NFC, without white space at either end. */
export const codes = fc
  .string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 4 })
  .filter((code) => code === code.normalize('NFC').trim() && findLostCharacters(code) === undefined)

export const MINOR_CODES = ['11', '12', 'mā', 'ma', 'M A&b']
export const MAJOR_CODES = ['1', '2', 'ā', 'Ā', '11']

/** Minor groups as a record carries them: each at most once, at most one of them Primary. */
const minorGroups: fc.Arbitrary<NonNullable<SampleRecord['minorGroups']>> = fc
  .uniqueArray(
    fc.record({
      code: fc.constantFrom(...MINOR_CODES),
      majors: fc.uniqueArray(fc.constantFrom(...MAJOR_CODES), { maxLength: 3 }),
    }),
    { selector: ({ code }) => code, maxLength: 3 },
  )
  .map((groups) =>
    groups.map(({ code, majors }, index) => ({
      minorGroupRelationType: index === 0 ? ('Primary' as const) : ('Secondary' as const),
      minorGroup: {
        code,
        ...(majors.length > 0 && {
          majorGroups: majors.map((major, place) => ({
            majorGroupRelationType: place === 0 ? ('Primary' as const) : ('Secondary' as const),
            majorGroup: { code: major },
          })),
        }),
      },
    })),
  )

/** What a record says besides its code. */
export const contents: fc.Arbitrary<Omit<SampleRecord, 'occupationCode'>> = fc
  .record({ titleEnglish: fc.constantFrom('one', 'two', 'three'), groups: minorGroups })
  .map(({ titleEnglish, groups }) => ({ titleEnglish, ...(groups.length > 0 && { minorGroups: groups }) }))

/** Filters by group: none, either or both, now and then of groups that no record has. */
export const groupFilters: fc.Arbitrary<Pick<Filters, 'major' | 'minor' | 'primaryOnly'>> = fc
  .record({
    major: fc.option(fc.constantFrom(...MAJOR_CODES, 'none'), { nil: undefined }),
    minor: fc.option(fc.constantFrom(...MINOR_CODES, 'none'), { nil: undefined }),
    primaryOnly: fc.boolean(),
  })
  // A relation to no group is refused.
  .map(({ primaryOnly, ...groups }) => ({
    ...groups,
    primaryOnly: primaryOnly && (groups.major ?? groups.minor) !== undefined,
  }))

/** Ways to write an instant: fractions, offsets and letters of either case all mean what they say. */
export function writtenBound(instants: fc.Arbitrary<number>): fc.Arbitrary<Bound> {
  return fc
    .record({
      milliseconds: instants,
      digits: fc.constantFrom('', '', '0', '000', '1', '0001', '999', '000000001'),
      offset: fc.oneof(
        fc.constantFrom('', 'Z', 'z'),
        fc.constantFrom(0, 60, 345, 720, 780, -60, -570, 1439, -1439),
      ),
      separator: fc.constantFrom('T', 'T', 't', ' '),
      brief: fc.boolean(),
    })
    .map(({ milliseconds, digits, offset, separator, brief }) => {
      const minutes = typeof offset === 'number' ? offset : 0
      const local = new Date(milliseconds + minutes * 60_000).toISOString()
      const whole = `${local.slice(0, 10)}${separator}${local.slice(11, 19)}`
      const fraction = `${local.slice(20, 23)}${digits}`
      const shown = brief && /^0*$/.test(fraction) ? '' : `.${fraction}`
      return { milliseconds, digits, text: `${whole}${shown}${writeOffset(offset)}` }
    })
}

function writeOffset(offset: string | number): string {
  if (typeof offset === 'string') return offset
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  return `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
}
