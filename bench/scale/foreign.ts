import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../src/database/open.ts'
import { publishResults } from '../../src/validation-results/publish.ts'
import { findSubmission, readEntries } from '../../src/validation-results/queries.ts'
import type { Cluster } from '../../test/support/cluster.ts'
import { generateFindings } from '../data.ts'

const TOKEN = 'scale-foreign'

export interface Pages {
  whole: number
  /** To be read again, as another run had become current: as it should be. */
  anotherRun: number
  /** Without the entries of the run that they name: wrong. */
  empty: number
}

/**
 * Publishes and reads where entries lie on another server than submissions (postgres_fdw): the statements work, and one
 * transaction writes to both, but a reader's view of the two is not of one moment.
 */
export async function countWrongPages(near: Cluster, far: Cluster, publishes: number): Promise<Pages> {
  const url = await near.createDatabase('scale_near')
  await (await openDatabase(await far.createDatabase('scale_far'))).close()
  const database = await openDatabase(url, { poolSize: 4 })
  try {
    await near.session(async (client) => {
      await client.query(`
        create extension postgres_fdw;
        create server far foreign data wrapper postgres_fdw
          options (host '127.0.0.1', port '${far.port}', dbname 'scale_far');
        create user mapping for current_user server far options (user 'mahi');
        drop table result_entry;
        create foreign table result_entry (run bigint, ordinal bigint, document text collate "C")
          server far options (table_name 'result_entry', batch_size '1000')`)
    }, 'scale_near')
    const publish = () =>
      publishResults(database, generateFindings(50), { eid: '1001', returnId: 'scale', token: TOKEN })
    await publish()

    let over = false
    const publishing = (async () => {
      for (let count = 0; count < publishes; count++) await publish()
    })().finally(() => {
      over = true
    })
    const pages: Pages = { whole: 0, anotherRun: 0, empty: 0 }
    while (!over) {
      const submission = await findSubmission(database, TOKEN)
      if (submission === undefined) throw new Error('there is no submission')
      const documents = await readEntries(database, submission, { page: 1, pageSize: 50 })
      pages[documents === undefined ? 'anotherRun' : documents === null ? 'empty' : 'whole']++
      await turn()
    }
    await publishing
    return pages
  } finally {
    await database.close()
  }
}
