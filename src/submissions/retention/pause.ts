import type { Database, Reader } from '../../foundation/database/database.ts'
import { readValue, storeValue } from '../../foundation/database/instance.ts'

const NAME = 'retention'

/** How far the clock may advance between two sweeps until it may be wrong, and how long nothing is deleted then. */
const LONGEST_GAP = 7 * 24 * 60 * 60 * 1000

/**
 * Until when nothing is deleted by age; `undefined` if that is not so. A pause that ends later than it could has begun
 * while the clock was ahead.
 */
export async function readPause(reader: Reader, now = Date.now()): Promise<number | undefined> {
  const { until } = await read(reader)
  return until > now && until <= now + LONGEST_GAP ? until : undefined
}

/**
 * Notes the time of a sweep. A wrong clock would let it delete everything, so it pauses if the clock has jumped ahead
 * since the last one: whoever runs the service can then correct it.
 *
 * @returns whether a pause begins
 */
export async function noteSweep(database: Database): Promise<boolean> {
  return await database.write('job:retention', async (writer) => {
    const now = Date.now()
    const { swept = now, until } = await read(writer)
    const begins = now - swept > LONGEST_GAP
    await storeValue(writer, NAME, JSON.stringify({ swept: now, until: begins ? now + LONGEST_GAP : until }))
    return begins
  })
}

async function read(reader: Reader): Promise<{ readonly swept?: number; readonly until: number }> {
  return JSON.parse((await readValue(reader, NAME)) ?? '{"until":0}')
}
