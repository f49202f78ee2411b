import { notModified, page } from '../../api/contract/results.ts'
import { makeEtag, Page } from '../../api/serving/page.ts'
import { cacheUpTo } from '../../api/serving/page-cache.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { SubmissionRow } from '../submission.ts'
import { answerCurrent, nameRun, readCurrent } from './own.ts'

/** Memory for the rendered objects of one kind, in bytes. */
const KEPT = 4 * 2 ** 20

export const keepAboutRuns = () => cacheUpTo<Page>(KEPT)

/**
 * Responds with an object about the current run of a submission. It never changes, so it is rendered once, and its bytes
 * are kept, however few other pages are.
 *
 * @param name distinguishes the objects about a run
 */
export async function answerAboutRun(
  database: Reader,
  kept: ReturnType<typeof keepAboutRuns>,
  name: string,
  authorized: SubmissionRow,
  { isFresh }: { isFresh(etag: string): boolean },
  read: (reader: Reader, submission: SubmissionRow) => Promise<object>,
) {
  return await answerCurrent(database, authorized, async (submission) => {
    // All submissions without a run have the same name of one.
    const key = `${nameRun(submission)}/${submission.token}/${name}`
    const etag = makeEtag(nameRun(submission), key)
    if (isFresh(etag)) return notModified(etag)
    const known = kept.get(key)
    const found = known ?? (await render())
    if (known === undefined) kept.set(key, found)
    return page(found)

    async function render(): Promise<Page> {
      const body = await readCurrent(database, submission, (reader) => read(reader, submission))
      return new Page(Buffer.from(JSON.stringify(body)), etag)
    }
  })
}
