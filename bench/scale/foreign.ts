// What happens where entries lie on another server than submissions, without a transaction of both that readers see
// at once: `node bench/scale/foreign.ts` publishes and reads through postgres_fdw and counts the pages that came out wrong.
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../src/database/open.ts'
import { publishResults } from '../../src/validation-results/publish.ts'
import { findSubmission, readEntries } from '../../src/validation-results/queries.ts'
import { Cluster } from '../../test/support/cluster.ts'
import { generateFindings } from '../data.ts'

const PUBLISHES = 300
const TOKEN = 'scale-foreign'

const near = await Cluster.start()
const far = await Cluster.start()
try {
  const url = await near.createDatabase('near')
  await far.createDatabase('far')
  await (await openDatabase(far.url('far'))).close()
  const database = await openDatabase(url, 4)
  await near.session(async (client) => {
    await client.query(`
      create extension postgres_fdw;
      create server far foreign data wrapper postgres_fdw options (host '127.0.0.1', port '${far.port}', dbname 'far');
      create user mapping for current_user server far options (user 'mahi');
      drop table result_entry;
      create foreign table result_entry (run bigint, ordinal bigint, document text collate "C")
        server far options (table_name 'result_entry', batch_size '1000')`)
  }, 'near')
  const publish = () =>
    publishResults(database, generateFindings(50), { eid: '1001', returnId: 'scale', token: TOKEN })
  await publish()

  let over = false
  const publishing = (async () => {
    for (let count = 0; count < PUBLISHES; count++) await publish()
    over = true
  })()
  const pages = { whole: 0, anotherRun: 0, empty: 0 }
  while (!over) {
    const submission = await findSubmission(database, TOKEN)
    if (submission === undefined) throw new Error('there is no submission')
    const documents = await readEntries(database, submission, { page: 1, pageSize: 50 })
    if (documents === undefined) pages.anotherRun++
    else if (documents === null) pages.empty++
    else pages.whole++
    await turn()
  }
  await publishing
  await database.close()
  process.stdout.write(
    `${PUBLISHES} publishes with entries on another server: ${pages.whole} pages read whole, ${pages.anotherRun} to be read again as the run had changed, ${pages.empty} WITHOUT THE ENTRIES of the run that they name\n`,
  )
} finally {
  await near.remove()
  await far.remove()
}
