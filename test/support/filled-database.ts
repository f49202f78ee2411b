import { createKey } from '../../src/api/access/keys.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import type { Question } from './load.ts'
import { withDatabase } from './opened.ts'
import { sourceOf } from './service.ts'

export { withDatabase }

/** Settings of a server that is to be asked more than its limits allow. */
export const UNLIMITED = {
  RATE_LIMIT_OCCUPATIONS: 'off',
  RATE_LIMIT_RESULTS: 'off',
  RATE_LIMIT_ORGANISATION: 'off',
  RATE_LIMIT_FAILED_CREDENTIALS: 'off',
}

/** What a database was filled with. */
export interface Filled {
  /** Headers that read everything in it. */
  readonly headers: Readonly<Record<string, string>>
  readonly keyId: string
  readonly token: string
  /** Pages of both operations, each at another place. */
  readonly questions: readonly Question[]
}

/** Fills an empty database with records `C100`, `C101`, ... and one submission. */
export async function fillDatabase(url: string, count = 60): Promise<Filled> {
  return await withDatabase(url, async (database) => {
    const codes = Array.from({ length: count }, (_, index) => `C${index + 100}`)
    const records = codes.map((occupationCode) => ({
      occupationCode,
      titleEnglish: `Title of ${occupationCode}`,
    }))
    await importOccupations(database, sourceOf(records))
    const entries = codes.map((localId) => ({ localId, errorCode: 'E1', errorType: 'Error' }))
    const { submissionToken: token } = await publishResults(database, sourceOf(entries), {
      eid: '1001',
      returnId: 'R1',
    })
    const { key, id } = await createKey(database, {
      client: 'load',
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    const headers = { 'x-api-key': key, eid: '1001' }
    const paths = [
      ...[0, 7, 20, 33].map((index) => `/v1/occupations?Limit=10&Cursor=${codes[index]}`),
      ...[1, 2, 3, 4].map((page) => `/v1/submissions/${token}/validation-results?page=${page}&pageSize=10`),
    ]
    return { headers, keyId: id, token, questions: paths.map((path) => ({ path, headers })) }
  })
}

/** Fails unless a page holds as many items as it says. */
export function checkPage(body: string): void {
  const { data, resultsCount, results, pageSize } = JSON.parse(body) as {
    data?: unknown[]
    resultsCount?: number
    results?: unknown[]
    pageSize?: number
  }
  const [items, count] = data === undefined ? [results, pageSize] : [data, resultsCount]
  if (items === undefined || items.length !== count || count === 0) throw new Error('the page is not whole')
}
