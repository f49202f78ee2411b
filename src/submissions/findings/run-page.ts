import { notModified, page } from '../../api/contract/results.ts'
import { digestQuery, makeEtag, Page } from '../../api/serving/page.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { readAtPrimary } from '../../foundation/database/servers.ts'
import { nameRun, type ResultsOptions, revisionOf } from './own.ts'
import type { Submission } from './queries.ts'

/**
 * Responds with an object about the current run of a submission. It never changes, so it is rendered once, and its bytes
 * are kept among the pages.
 *
 * @param name distinguishes the objects about a run
 */
export async function answerAboutRun(
  { servers, pages }: Pick<ResultsOptions, 'servers' | 'pages'>,
  name: string,
  submission: Submission,
  { isFresh }: { isFresh(etag: string): boolean },
  read: (reader: Reader) => Promise<object>,
) {
  // All submissions without a run have the same name of one.
  const key = `${nameRun(submission)}/${submission.token}/${name}`
  const etag = makeEtag(nameRun(submission), digestQuery(key))
  if (isFresh(etag)) return notModified(etag)
  const kept = pages.get(key)
  const found = kept ?? (await render())
  if (kept === undefined) pages.set(key, found)
  return page(found, () => pages.set(key, found))

  async function render(): Promise<Page> {
    const body = await readAtPrimary(servers, read)
    const { 'x-revision': revision } = revisionOf(submission)
    return new Page([Buffer.from(JSON.stringify(body))], etag, { revision })
  }
}
