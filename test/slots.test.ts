import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { actFor } from '../src/foundation/database/caller.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { Exhausted, type Slot, Slots } from '../src/foundation/slots.ts'
import { cases } from './support/properties.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

const REFUSAL = { detail: 'There is no room.', retryAfter: 1 }

test('a caller gets its share and no more, and what it gives back is free again', () => {
  const slots = new Slots({ ...REFUSAL, capacity: 4, share: 2 })
  const first = slots.take('a')
  slots.take('a')
  expect(() => slots.take('a')).toThrow(expect.objectContaining({ own: true, retryAfter: 1 }))
  slots.take('b', 2)
  expect(() => slots.take('c')).toThrow(expect.objectContaining({ own: false }))
  first.release()
  first.release()
  expect([slots.used, slots.refused]).toEqual([3, 2])
  slots.take('c')
})

test('what exceeds everything on its own has room where there is nothing else', () => {
  const slots = new Slots({ ...REFUSAL, capacity: 10, share: 5 })
  const large = slots.take('a', 50)
  expect(() => slots.take('b')).toThrow('There is no room.')
  large.release()
  slots.take('b')
  expect(() => slots.take('a', 50)).toThrow('There is no room.')
})

test('what is in use is always what is held', () => {
  const owner = fc.constantFrom('a', 'b', '')
  const step = fc.record({ owner, amount: fc.nat({ max: 4 }), release: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const slots = new Slots({ ...REFUSAL, capacity: 10, share: 6 })
      const held: Slot[] = []
      for (const { owner, amount, release } of steps) {
        if (release) held.shift()?.release()
        else {
          try {
            held.push(slots.take(owner, amount))
          } catch (error) {
            expect(error).toBeInstanceOf(Exhausted)
          }
        }
        expect(slots.used).toBe(held.reduce((sum, slot) => sum + slot.amount, 0))
        expect(slots.used).toBeLessThanOrEqual(10)
      }
    }),
    cases(100),
  )
})

test('those who wait come in their order, but nobody beyond its share', async () => {
  const slots = new Slots({ ...REFUSAL, capacity: 2, share: 1, waiting: 20 })
  const order: string[] = []
  const work = async (owner: string) => {
    const slot = await slots.enter(owner)
    order.push(owner)
    await new Promise(setImmediate)
    slot.release()
  }
  await Promise.all(['many', 'many', 'many', 'one', 'other'].map(work))
  // Of two slots, the first caller has one; the other callers come before its second turn.
  expect(order.indexOf('one')).toBeLessThan(order.lastIndexOf('many'))
  expect([order.length, slots.used, slots.waiting]).toEqual([5, 0, 0])
})

test('only so many wait, one caller half of them, and nobody longer than its patience', async () => {
  const slots = new Slots({ ...REFUSAL, capacity: 1, waiting: 4 })
  const holding = slots.take('a')
  const waiting = [slots.enter('a'), slots.enter('a')]
  await expect(slots.enter('a')).rejects.toMatchObject({ own: true })
  await expect(slots.enter('b', 0)).rejects.toMatchObject({ own: false })
  waiting.push(slots.enter('b'), slots.enter('c'))
  await expect(slots.enter('d')).rejects.toBeInstanceOf(Exhausted)
  holding.release()
  await Promise.all(waiting.map(async (slot) => (await slot).release()))
  expect([slots.used, slots.waiting]).toEqual([0, 0])
})

test('work that waits for nothing else leaves the event loop its turns', async () => {
  const slots = new Slots({ ...REFUSAL, capacity: 1, waiting: 100 })
  let done = 0
  const work = async () => {
    const slot = await slots.enter('a')
    done++
    slot.release()
  }
  const all = Promise.all(Array.from({ length: 20 }, work))
  await new Promise(setImmediate)
  expect(done).toBeLessThan(20)
  await all
})

test('a caller with many long transactions leaves connections to others', async () => {
  const database = await openDatabase(temporaryDatabaseUrl(), { poolSize: 4 })
  onTestFinished(() => database.close())
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  // SQLite has one connection for changes: there, the first comes first.
  if (engine === 'sqlite') gate.resolve()
  const change = (caller: string, index: number) =>
    actFor({ caller }, () =>
      database.write(`submission:${caller}${index}`, async (writer) => {
        order.push(caller)
        await writer.get('select name from migration limit 1')
        if (caller === 'many') await gate.promise
      }),
    )
  const many = Array.from({ length: 6 }, (_, index) => change('many', index))
  await change('one', 0)
  await actFor({ caller: 'one' }, () => database.get('select name from migration limit 1'))
  expect(order).toContain('one')
  gate.resolve()
  await Promise.all(many)
  expect(order).toHaveLength(7)
})
