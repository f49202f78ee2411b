import { Refusal } from './refusal.ts'

/** The most uploads that a process receives at once. Each needs up to 3 MiB. */
const MOST = 24

/** Of these, the most of one organisation. */
const MOST_OF_ONE = 8

const running = new Map<string, number>()

/**
 * Runs an upload, unless there are too many.
 *
 * @throws {Refusal} `too-many` or `busy`
 */
export async function inSlot<T>(eid: string, work: () => Promise<T>): Promise<T> {
  const own = running.get(eid) ?? 0
  if (own >= MOST_OF_ONE) {
    throw new Refusal(
      'too-many',
      `${own} uploads of this organisation are in progress. Wait until one ends.`,
      {
        retryAfter: 5,
      },
    )
  }
  const all = [...running.values()].reduce((sum, count) => sum + count, 0)
  if (all >= MOST) {
    throw new Refusal('busy', 'Too many uploads are in progress. Try again later.', { retryAfter: 5 })
  }
  running.set(eid, own + 1)
  try {
    return await work()
  } finally {
    const left = (running.get(eid) ?? 1) - 1
    if (left === 0) running.delete(eid)
    else running.set(eid, left)
  }
}
