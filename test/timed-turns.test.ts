import { expect, test } from 'vitest'
import { TimedTurns, takeTurn } from '../src/foundation/timed-turns.ts'

/** Works as long as a turn may last. */
function work(turns: TimedTurns): void {
  while (!turns.isOver);
}

test('however many work at the same time, everything else has a turn after each, and all of them go on in order', async () => {
  const [WORKERS, PARTS] = [20, 3]
  const done: number[] = []
  const between: number[] = []
  let last = 0
  let immediate = setImmediate(function next() {
    between.push(done.length - last)
    last = done.length
    immediate = setImmediate(next)
  })
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      for (let part = 0; part < PARTS; part++) {
        await takeTurn()
        work(new TimedTurns())
        done.push(worker)
      }
    }),
  )
  clearImmediate(immediate)
  expect(Math.max(...between)).toBe(1)
  const order = Array.from({ length: WORKERS }, (_, worker) => worker)
  expect(done).toEqual(Array.from({ length: PARTS }, () => order).flat())
})
