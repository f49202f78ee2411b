import { expect, onTestFinished, test, vi } from 'vitest'
import { Budget, Exhausted } from '../src/foundation/budget/budget.ts'
import { actFor } from '../src/foundation/database/caller.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

const REFUSAL = { detail: 'There is no room.', retryAfter: 1 }

test('a caller gets its share and no more, and what it gives back is free again', () => {
  const budget = new Budget({ ...REFUSAL, capacity: 4, share: 2 })
  const first = budget.take('a', 1)
  budget.take('a', 1)
  expect(() => budget.take('a', 1)).toThrow(expect.objectContaining({ own: true }))
  budget.take('b', 2)
  expect(() => budget.take('c', 1)).toThrow(expect.objectContaining({ own: false }))
  first.release()
  first.release()
  expect([budget.used, budget.heldBy('a'), budget.refused]).toEqual([3, 1, 2])
  budget.take('c', 1)
})

test('holders without progress make room: those of the caller itself if only its share is used up', () => {
  const budget = new Budget({ ...REFUSAL, capacity: 4, share: 2, stalled: 1_000 })
  const ended: string[] = []
  const take = (owner: string, name: string) => budget.take(owner, 1, () => ended.push(name))
  take('b', 'b1')
  const slow = take('a', 'a1')
  take('a', 'a2')
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_000)
  onTestFinished(() => clock.mockRestore())
  slow.progress()
  take('a', 'a3')
  expect(ended).toEqual(['a2'])
  take('c', 'c1')
  take('c', 'c2')
  expect(ended).toEqual(['a2', 'b1'])
})

test('those who hold more than the caller would make room sooner', () => {
  const budget = new Budget({ ...REFUSAL, capacity: 4, stalled: 5_000 })
  const ended: string[] = []
  for (let index = 0; index < 3; index++) budget.take('a', 1, () => ended.push(`a${index}`))
  budget.take('b', 1, () => ended.push('b'))
  expect(() => budget.take('c', 1)).toThrow(Exhausted)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1_500)
  onTestFinished(() => clock.mockRestore())
  budget.take('c', 1)
  expect(() => budget.take('c', 1)).toThrow(Exhausted)
  expect(ended).toEqual(['a0'])
})

test('callers that wait for a slot take turns, however many times one of them asks', async () => {
  const budget = new Budget({ ...REFUSAL, capacity: 1, waiting: { most: 20, share: 10 } })
  const order: string[] = []
  const work = async (owner: string) => {
    const slot = await budget.enter(owner)
    order.push(owner)
    slot.release()
  }
  const all = [...Array.from({ length: 6 }, () => work('many')), work('one'), work('other')]
  await Promise.all(all)
  expect(order).toEqual(['many', 'many', 'one', 'other', 'many', 'many', 'many', 'many'])
  expect([budget.used, budget.waiting]).toEqual([0, 0])
})

test('a caller waits only so many times, and others still find a place', async () => {
  const budget = new Budget({ ...REFUSAL, capacity: 1, waiting: { most: 3, share: 2 } })
  const holding = budget.take('a', 1)
  const waiting = [budget.enter('a'), budget.enter('a')]
  await expect(budget.enter('a')).rejects.toMatchObject({ own: true })
  waiting.push(budget.enter('b'))
  await expect(budget.enter('c')).rejects.toBeInstanceOf(Exhausted)
  holding.release()
  await Promise.all(waiting.map(async (slot) => (await slot).release()))
  expect([budget.used, budget.waiting]).toEqual([0, 0])
})

test('work that waits for nothing else leaves the event loop its turns', async () => {
  const budget = new Budget({ ...REFUSAL, capacity: 1, waiting: { most: 100, share: 100 } })
  let done = 0
  const work = async () => {
    const slot = await budget.enter('a')
    const end = performance.now() + 5
    while (performance.now() < end);
    done++
    slot.release()
  }
  const all = Promise.all(Array.from({ length: 20 }, work))
  await new Promise(setImmediate)
  expect(done).toBeLessThan(20)
  await all
})

test('a caller with many long transactions leaves connections and turns to others', async () => {
  const database = await openDatabase(temporaryDatabaseUrl(), { poolSize: 4 })
  onTestFinished(() => database.close())
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  // SQLite has one connection for changes: there, it is a matter of turns.
  if (engine === 'sqlite') gate.resolve()
  const change = (caller: string, index: number) =>
    actFor(caller, () =>
      database.write(`submission:${caller}${index}`, async (writer) => {
        order.push(caller)
        await writer.get('select name from migration limit 1')
        if (caller === 'many') await gate.promise
      }),
    )
  const many = Array.from({ length: 6 }, (_, index) => change('many', index))
  await change('one', 0)
  await actFor('one', () => database.get('select name from migration limit 1'))
  expect(order.slice(0, 4)).toContain('one')
  gate.resolve()
  await Promise.all(many)
  expect(order).toHaveLength(7)
})
