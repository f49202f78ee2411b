import { isDeepStrictEqual } from 'node:util'
import { compareCodePoints } from '../../src/foundation/text/code-points.ts'
import { listMatches, pageOf } from '../../test/support/catalogue.ts'
import type { Data, Submission } from './data.ts'
import type { Meaning } from './values.ts'
import { readTime } from './values.ts'

/** What the parameters of a request mean, by name. */
export type Reading = ReadonlyMap<string, Meaning>

/** The page that the interface asks for, found by looking at each record. */
function occupationsPage(data: Data, reading: Reading): object {
  const filters = {
    major: meant(reading, 'Filter.MajorGroupCode'),
    minor: meant(reading, 'Filter.MinorGroupCode'),
    primaryOnly: meant(reading, 'Filter.GroupRelation') === 'Primary',
    after: boundOf(reading, 'Filter.LastUpdatedAfter'),
    before: boundOf(reading, 'Filter.LastUpdatedBefore'),
  }
  const codes = meant(reading, 'Filter.Codes')?.split(',')
  const records = data.records.filter(({ occupationCode }) => codes?.includes(occupationCode) ?? true)
  const limit = Number(meant(reading, 'Limit') ?? Math.max(20, codes?.length ?? 0))
  const page = pageOf(listMatches(records, filters), limit, meant(reading, 'Cursor'))
  const fields = meant(reading, 'Fields')?.split(',')
  const missing = findMissing(data, codes ?? [])
  return {
    ...page,
    ...(fields !== undefined && { data: page.data.map((record) => only(record, fields)) }),
    ...(missing.length > 0 && { missingCodes: missing.map((occupationCode) => ({ occupationCode })) }),
  }
}

function findMissing({ records }: Data, codes: readonly string[]): string[] {
  const missing = new Set(codes).difference(new Set(records.map(({ occupationCode }) => occupationCode)))
  return [...missing].sort(compareCodePoints)
}

function only(record: object, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name)))
}

/** Whether parameters that are right one by one mean nothing together. */
export function areUnfit(reading: Reading): boolean {
  return (
    meant(reading, 'Filter.GroupRelation') === 'Primary' &&
    (meant(reading, 'Filter.MajorGroupCode') ?? meant(reading, 'Filter.MinorGroupCode')) === undefined
  )
}

function boundOf(reading: Reading, name: string) {
  const text = meant(reading, name)
  if (text === undefined) return undefined
  const { milliseconds, rest } = readTime(text)
  return { milliseconds, digits: rest ? '1' : '', text }
}

/** The field that each filter looks at. */
const FILTERS: Readonly<Record<string, string>> = {
  'Filter.ErrorType': 'errorType',
  'Filter.FileType': 'fileType',
  'Filter.ErrorCode': 'errorCode',
  'Filter.StudentId': 'studentId',
  'Filter.CourseCode': 'courseCode',
}

/** The page, or `undefined` where there is none. */
function resultsPage(submission: Submission, reading: Reading): object | undefined {
  const filters = Object.entries(FILTERS).map(([name, field]) => [field, meant(reading, name)] as const)
  const entries = submission.entries.filter((entry) =>
    filters.every(([field, value]) => value === undefined || entry[field] === value),
  )
  const page = Number(meant(reading, 'page') ?? 1)
  const pageSize = Number(meant(reading, 'pageSize') ?? 100)
  if (page > 1 && (page - 1) * pageSize >= entries.length) return undefined
  const results = entries.slice((page - 1) * pageSize, page * pageSize)
  return { page, pageSize, results, totalCount: entries.length }
}

function meant(reading: Reading, name: string): string | undefined {
  const meaning = reading.get(name)
  return meaning?.as === 'value' || meaning?.as === 'either' ? meaning.value : undefined
}

/** What an operation answers to parameters: a page, or `undefined` for one that does not exist. */
export function answerOf(id: string, data: Data, token: string, reading: Reading): object | undefined {
  if (id === 'listOccupations') return occupationsPage(data, reading)
  const submission = data.submissions.get(token)
  if (id === 'getValidationResults' && submission !== undefined) return resultsPage(submission, reading)
  throw new Error(`there is no model of ${id}: add one`)
}

/** @throws where the body is another page */
export function assertPage(body: string, page: object): void {
  const given = JSON.parse(body) as object
  if (!isDeepStrictEqual(given, page)) {
    throw new Error(`the page is ${summarise(given)}, and should be ${summarise(page)}`)
  }
}

function summarise(page: object): string {
  const codes = (_: string, value: unknown) =>
    Array.isArray(value)
      ? value.map((item: Record<string, unknown>) => item.occupationCode ?? item.localId ?? item)
      : value
  return JSON.stringify(page, codes).slice(0, 1500)
}
