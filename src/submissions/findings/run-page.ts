import { notModified, page } from '../../api/contract/results.ts'
import { makeEtag, Page } from '../../api/serving/page.ts'
import { cacheUpTo } from '../../api/serving/page-cache.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { answerCurrent, nameRun, readCurrent } from './own.ts'

/** Memory for the rendered objects of one kind, in bytes. */
const KEPT = 4 * 2 ** 20

/**
 * Makes responses with an object about the current run of a submission. It never changes, so it is rendered once, and its
 * bytes are kept, however few other pages are.
 *
 * @param name distinguishes the objects about a run
 */
export function answerAboutRuns(
  database: Reader,
  name: string,
  read: (reader: Reader, submission: SubmissionRow) => Promise<object>,
) {
  const kept = cacheUpTo<Page>(KEPT)
  return (authorized: SubmissionRow, isFresh: (etag: string) => boolean) =>
    answerCurrent(database, authorized, async (submission) => {
      // All submissions without a run have the same name of one.
      const key = `${nameRun(submission)}/${submission.token}/${name}`
      const etag = makeEtag(nameRun(submission), key)
      if (isFresh(etag)) return notModified(etag)
      const known = kept.get(key)
      if (known !== undefined) return page(known)
      const body = await readCurrent(database, submission, (reader) => read(reader, submission))
      const rendered = new Page(Buffer.from(JSON.stringify(body)), etag)
      kept.set(key, rendered)
      return page(rendered)
    })
}
