import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClosingHourOptions, simulateClosingHour } from '../bench/scale/closing-hour.ts'

const OPTIONS: ClosingHourOptions = {
  seed: 1,
  times: { start: 0.3, publish: 0.01, publishEntry: 0.00001, poll: 0.0003, page: 0.002 },
  submissions: 300,
  cores: 2,
  publishers: 1,
  processes: 1,
}

const options = fc
  .record({
    seed: fc.integer(),
    submissions: fc.integer({ min: 0, max: 400 }),
    cores: fc.integer({ min: 1, max: 3 }),
    publishers: fc.integer({ min: 1, max: 3 }),
    processes: fc.integer({ min: 1, max: 3 }),
    // From nothing to far more than the hour has room for.
    start: fc.double({ min: 0, max: 30, noNaN: true }),
    publish: fc.double({ min: 0, max: 30, noNaN: true }),
  })
  .map(({ start, publish, ...rest }) => ({ ...rest, times: { ...OPTIONS.times, start, publish } }))

test('every submission is published and read to its end, and no server is busy for longer than there is time', () => {
  fc.assert(
    fc.property(options, (given) => {
      const { starts, publishes, reads, untilRead } = simulateClosingHour(given)
      expect([starts.jobs, publishes.jobs]).toEqual([given.submissions, given.submissions])
      // At least one poll and one page each.
      expect(reads.jobs).toBeGreaterThanOrEqual(2 * given.submissions)
      for (const { utilisation, wait, backlog } of [starts, publishes, reads]) {
        expect(utilisation).toBeLessThanOrEqual(1 + 1e-9)
        expect(wait.median).toBeLessThanOrEqual(wait.p99)
        expect(wait.p99).toBeLessThanOrEqual(wait.longest)
        if (wait.longest > 0) expect(backlog).toBeGreaterThan(0)
      }
      // Nobody reads what is not published yet.
      if (given.submissions > 0)
        expect(untilRead.longest).toBeGreaterThan(given.times.start + given.times.publish)
    }),
    { numRuns: 60 },
  )
})

test('whoever has a server free does not wait', () => {
  const { starts, publishes } = simulateClosingHour({ ...OPTIONS, cores: 300, publishers: 300 })
  expect([starts.wait.longest, publishes.wait.longest]).toEqual([0, 0])
})

test('the same seed gives the same figures, and another one others', () => {
  expect(simulateClosingHour(OPTIONS)).toEqual(simulateClosingHour(OPTIONS))
  expect(simulateClosingHour({ ...OPTIONS, seed: 2 })).not.toEqual(simulateClosingHour(OPTIONS))
})
