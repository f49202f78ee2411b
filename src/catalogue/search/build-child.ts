import { writeFileSync } from 'node:fs'
import { openDatabase } from '../../foundation/database/open.ts'
import { endWithParent } from '../../foundation/jobs/end-with-parent.ts'
import { IndexTooLarge, readOwnMemory } from './build-limits.ts'
import type { BuildOrder, BuildResult } from './build-process.ts'
import { buildStoredIndex } from './build-stored.ts'

// If memory runs out all the same, the system should end this process and not the one that serves requests.
try {
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {
  // Not on this system.
}

endWithParent()

process.once('message', async ({ databaseUrl, memoryBytes }: BuildOrder) => {
  const onStep = () => {
    if (readOwnMemory() > memoryBytes) throw new IndexTooLarge(memoryBytes)
  }
  try {
    await buildStoredIndex(async (use) => {
      const options = { existing: true, poolSize: 1, applicationName: 'mahi-index' }
      const database = await openDatabase(databaseUrl, options)
      try {
        return await use(database)
      } finally {
        await database.close()
      }
    }, onStep)
    end({ kind: 'built' })
  } catch (error) {
    if (error instanceof IndexTooLarge) end({ kind: 'refused', reason: error.message })
    else throw error
  }
})

function end(result: BuildResult): void {
  process.send?.(result, () => process.disconnect())
}
