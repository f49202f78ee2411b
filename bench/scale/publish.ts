// One publisher, as a process of its own: `node bench/scale/publish.ts URL TOKEN ENTRIES COUNT` publishes a submission
// so often and prints how long each took, in seconds, as one JSON array. The first, which is not printed, warms up.
import { openDatabase } from '../../src/database/open.ts'
import { publishResults } from '../../src/validation-results/publish.ts'
import { generateFindings } from '../data.ts'

const [url = '', token = '', entries = '0', count = '0'] = process.argv.slice(2)
const database = await openDatabase(url)
const seconds: number[] = []
for (let index = 0; index <= Number(count); index++) {
  const begun = performance.now()
  await publishResults(database, generateFindings(Number(entries)), { eid: '1001', returnId: 'scale', token })
  if (index > 0) seconds.push((performance.now() - begun) / 1000)
}
await database.close()
process.stdout.write(JSON.stringify(seconds))
