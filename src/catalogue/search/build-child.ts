import { writeFileSync } from 'node:fs'
import { openDatabase } from '../../foundation/database/open.ts'
import { IndexTooLarge, readOwnMemory } from './build-limits.ts'
import type { BuildOrder, BuildResult } from './build-messages.ts'
import { buildStoredIndex } from './build-stored.ts'

// If memory runs out all the same, the system should end this process and not the one that serves requests.
try {
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {
  // Not on this system.
}

const parent = process.ppid

process.once('message', async ({ databaseUrl, memoryBytes }: BuildOrder) => {
  const onStep = () => {
    // While it computes, this process sees no closed channel.
    if (process.ppid !== parent) process.exit(1)
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
process.once('disconnect', () => process.exit(1))

function end(result: BuildResult): void {
  process.send?.(result, () => process.disconnect())
}
