import { isDeepStrictEqual } from 'node:util'
import { listMatches, pageOf } from '../support/catalogue.ts'
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
    after: boundOf(reading, 'Filter.LastUpdatedAfter'),
    before: boundOf(reading, 'Filter.LastUpdatedBefore'),
  }
  const limit = Number(meant(reading, 'Limit') ?? 20)
  return pageOf(listMatches(data.records, filters), limit, meant(reading, 'Cursor'))
}

function boundOf(reading: Reading, name: string) {
  const text = meant(reading, name)
  if (text === undefined) return undefined
  const { milliseconds, rest } = readTime(text)
  return { milliseconds, digits: rest ? '1' : '', text }
}

/** The page, or `undefined` where there is none. */
function resultsPage({ entries }: Submission, reading: Reading): object | undefined {
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
