import { expect, test } from 'vitest'
import { Body } from '../src/api/serving/page.ts'
import { OVERHEAD, UnreadResponses } from '../src/api/serving/unread-responses.ts'
import { Budget } from '../src/foundation/budget/budget.ts'

/** What unread responses may occupy. */
const CAPACITY = 32 * 2 ** 20

const page = (bytes: number) => new Body([Buffer.alloc(bytes)])

/** Unread responses with so much room, and the budget that they share. */
function withRoom(capacity: number, share = capacity) {
  const budget = new Budget({ capacity, share, stalled: 5_000, detail: 'There is no room.', retryAfter: 1 })
  return { budget, unread: new UnreadResponses(budget) }
}

test('bodies that are reserved together are counted before any of them is written', () => {
  const { budget, unread } = withRoom(10 * (1000 + OVERHEAD))
  const admitted = Array.from({ length: 20 }, () => {
    try {
      return unread.reserve(page(1000), 'a')
    } catch (error) {
      expect(error).toMatchObject({ own: false, retryAfter: 1 })
      return undefined
    }
  }).filter((reservation) => reservation !== undefined)
  expect(admitted).toHaveLength(10)
  expect(budget.used).toBe(10 * (1000 + OVERHEAD))
  for (const reservation of admitted) reservation.release()
  expect(budget.used).toBe(0)
})

test('a caller that uses up its share leaves the rest to others', () => {
  const { budget, unread } = withRoom(10 * (1000 + OVERHEAD), 5 * (1000 + OVERHEAD))
  for (let count = 0; count < 5; count++) unread.reserve(page(1000), 'a')
  expect(() => unread.reserve(page(1000), 'a')).toThrow(expect.objectContaining({ own: true }))
  for (let count = 0; count < 5; count++) unread.reserve(page(1000), 'b')
  expect(budget.heldBy('a')).toBe(budget.heldBy('b'))
})

test('a body that many read counts once, and each response for what Node keeps of it', () => {
  const { budget, unread } = withRoom(CAPACITY)
  const [plain, encoded] = [page(50_000), page(20_000)]
  const readers = ['a', 'b', 'b'].map((caller) => unread.reserve(plain, caller))
  expect(budget.used).toBe(50_000 + 3 * OVERHEAD)
  expect(budget.heldBy('a')).toBe(50_000 + OVERHEAD)
  readers[0]?.exchange(encoded)
  // Someone still holds it, and pays for it.
  expect([budget.heldBy('a'), budget.heldBy('b')]).toEqual([20_000 + OVERHEAD, 50_000 + 2 * OVERHEAD])
  readers[1]?.exchange(encoded)
  expect(budget.used).toBe(70_000 + 3 * OVERHEAD)
  readers[2]?.exchange(encoded)
  expect(budget.used).toBe(20_000 + 3 * OVERHEAD)
  for (const reservation of readers) reservation.release()
  expect(budget.used).toBe(0)
})

test('a page larger than the capacity is sent if it is the only one', () => {
  const { unread } = withRoom(10_000)
  const large = unread.reserve(page(50_000), 'a')
  expect(() => unread.assertRoom('b')).toThrow('There is no room')
  expect(() => unread.reserve(page(1), 'b')).toThrow('There is no room')
  large.release()
  unread.assertRoom('b')
})
