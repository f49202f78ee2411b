import { MahiError } from './errors.ts'

/**
 * Checks that a response is a page of the catalogue. A proxy in front of the service may respond with 200 and any
 * content, and a page without records would look like an empty catalogue.
 *
 * @throws {MahiError} `unreadable`
 */
export const assertPage = (body: unknown, etag: string | null) => refuse('page', findPageFault(body, etag))

/** As `assertPage`, for a page of the change feed. */
export const assertChanges = (body: unknown, etag: string | null) =>
  refuse('page of changes', findChangesFault(body, etag))

function refuse(what: string, fault: string | undefined): void {
  if (fault !== undefined)
    throw new MahiError('unreadable', { title: `The response is not a ${what}: ${fault}` })
}

function findPageFault(body: unknown, etag: string | null): string | undefined {
  if (!isObject(body)) return 'it is no object'
  const { data, totalCount, resultsCount, nextCursor } = body
  if (etag === null) return 'it lacks an ETag'
  if (!Array.isArray(data) || !data.every(isObject)) return 'it lacks a list of records as data'
  if (!isCount(totalCount)) return 'it lacks a whole number as totalCount'
  if (resultsCount !== data.length) return 'its resultsCount is not the number of its records'
  if (nextCursor === undefined) return undefined
  if (typeof nextCursor !== 'string' || nextCursor === '') return 'its nextCursor is no text'
  return data.length === 0 ? 'it has a nextCursor but no records' : undefined
}

function findChangesFault(body: unknown, etag: string | null): string | undefined {
  if (!isObject(body)) return 'it is no object'
  const { changes, totalCount, revision, resultsCount, next, delta } = body
  if (etag === null) return 'it lacks an ETag'
  if (!Array.isArray(changes)) return 'it lacks a list as changes'
  if (!isCount(totalCount) || !isCount(revision)) return 'it lacks a whole number as totalCount or revision'
  if (resultsCount !== changes.length) return 'its resultsCount is not the number of its changes'
  const wrong = changes.findIndex((each) => !isChange(each))
  if (wrong !== -1) return `its change ${wrong} is none`
  if (isToken(next) ? delta !== undefined : next !== undefined || !isToken(delta))
    return 'it lacks a token as either next or delta'
  return isToken(next) && changes.length === 0 ? 'it has a next page but no changes' : undefined
}

function isChange(value: unknown): boolean {
  if (!isObject(value)) return false
  const { change, occupationCode, record } = value
  if (!isToken(occupationCode)) return false
  if (change === 'removed') return record === undefined
  return (
    (change === 'created' || change === 'updated') &&
    isObject(record) &&
    record.occupationCode === occupationCode
  )
}

const isToken = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
