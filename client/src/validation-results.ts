import { MahiError } from './errors.ts'
import { readCount, readObjects } from './lines.ts'
import { nameParameters } from './operations.ts'
import type { CallOptions, HeaderFields, Path, Requests } from './request.ts'
import type { Finding, ResultsQuery, ValidationResultsPage } from './types.ts'

/** How to read every entry. */
export interface ReadAllOptions extends CallOptions {
  /** Entries per page. Above the installation's maximum is refused, never clamped. */
  pageSize?: number | undefined
  /**
   * Called when a new run has replaced the one being read: forget its entries, the first of the new run comes next.
   * Without it, reading then fails with an error of the kind `new-run`. What it throws ends the reading.
   */
  onNewRun?: (() => void | Promise<void>) | undefined
}

/** Get validation results. Every function here rejects with a `MahiError`, or with the signal's reason. */
export function createValidationResults({ send, stream }: Requests, own: HeaderFields) {
  const get = (token: string, query: ResultsQuery, options: CallOptions | undefined) =>
    send<ValidationResultsPage>(pathOf(token), { ...options, query: nameParameters(query), headers: own })

  async function page(token: string, query: ResultsQuery = {}, options?: CallOptions) {
    return (await get(token, query, options)).body
  }

  async function* all(token: string, { onNewRun, pageSize, ...options }: ReadAllOptions = {}) {
    let run: string | undefined
    let page = 1
    let read = 0
    let size = pageSize
    for (;;) {
      const answer = await get(token, { page, pageSize: size }, options).catch((error: unknown) => {
        // A page that the run had is past the end: the run that has replaced it is shorter.
        if (page > 1 && error instanceof MahiError && error.errorCode === 'PR2') return undefined
        throw error
      })
      const answeredRun = answer?.etag?.split('-', 1)[0]
      if (page > 1 && answeredRun !== run) {
        if (onNewRun === undefined) {
          const title = 'A new run has replaced the one that was being read'
          throw new MahiError('new-run', { title, submissionToken: token })
        }
        await onNewRun()
        page = 1
        read = 0
        continue
      }
      run = answeredRun
      const { results = [], totalCount, pageSize: answeredSize } = answer?.body ?? {}
      // Otherwise, a total that is never reached would cause endless requests.
      if (
        !Array.isArray(results) ||
        (results.length === 0 && totalCount !== undefined && read < totalCount)
      ) {
        throw new MahiError('unreadable', {
          title: 'The response has fewer entries than its total count',
        })
      }
      for (const entry of results) {
        options.signal?.throwIfAborted()
        yield entry
      }
      read += results.length
      if (totalCount !== undefined && read >= totalCount) return
      if (totalCount === undefined || run === undefined) {
        throw new MahiError('unreadable', { title: 'The response lacks an ETag or a total count' })
      }
      size = answeredSize
      page++
    }
  }

  async function exportAll(token: string, options?: CallOptions) {
    const sent = { ...own, accept: `${NDJSON}, */*;q=0.1` }
    const { headers, body } = await stream(pathOf(token), { ...options, headers: sent })
    const totalCount = readCount(headers.get('total-count'))
    if (headers.get('content-type')?.split(';', 1)[0] === NDJSON && totalCount !== undefined)
      return readObjects<Finding>(body, totalCount, 'export', options?.signal)
    void body?.cancel().catch(() => undefined)
    return undefined
  }

  return {
    /** One page of the current validation results of a submission. */
    page,
    /**
     * Every entry of a submission, in the order they were published, a page at a time: always those of a single run.
     * What happens when a new run replaces it meanwhile is for `onNewRun` to say.
     */
    all,
    /**
     * Every entry of the current run in one response, each with where it is. `undefined` if the service has pages only.
     * `options.deadline` is for its beginning, `options.signal` for all of it.
     */
    export: exportAll,
  }
}

const NDJSON = 'application/x-ndjson'

function pathOf(token: string): Path {
  return ['submissions', token, 'validation-results']
}
