import { expect, test } from 'vitest'
import { grow, judgeTrends, type Window } from '../tools/soak/verdict.ts'

/** Windows of a run in which nothing changes, but for what is given. */
function makeWindows(change: (index: number) => Partial<Window>): Window[] {
  return Array.from({ length: 24 }, (_, index) => ({
    minute: index,
    requests: 1000,
    p50: 1,
    p99: 10 + (index % 3),
    memory: 200e6 + (index % 5) * 1e6,
    resident: 300e6,
    heap: 25e6,
    pages: 10e6,
    handles: 50 + (index % 2),
    worker: 80e6,
    connections: 11,
    database: 50e6,
    log: 4e6,
    ...change(index),
  }))
}

function failing(change: (index: number) => Partial<Window>): string[] {
  const run = {
    engine: 'sqlite' as const,
    minutes: 24,
    poolSize: 10,
    windows: makeWindows(change),
    answered: 24_000,
    turnedAway: 0,
  }
  const rest = {
    unexpected: [],
    commands: {},
    commandFailures: [],
    logFaults: [],
    handlesBefore: 20,
    handlesAfter: 20,
  }
  const findings = judgeTrends({ ...run, ...rest, exitCodes: [0, 0] })
  return findings.filter(({ holds }) => !holds).map(({ rule }) => rule.split(/ levels| of the/)[0] ?? '')
}

test('a stable run is distinguished from one that leaks or slows down', () => {
  expect(failing(() => ({}))).toEqual([])
  // At the start caches fill and code is compiled.
  expect(failing((index) => ({ memory: index < 8 ? 100e6 + index * 12e6 : 200e6 }))).toEqual([])
  expect(failing((index) => (index === 20 ? { memory: 400e6, p99: 500 } : {}))).toEqual([])
  expect(failing((index) => ({ memory: 200e6 + index * 3e6 }))).toEqual(['memory'])
  expect(failing((index) => ({ worker: 80e6 + index * 2e6 }))).toEqual(["the worker's memory"])
  expect(failing((index) => ({ heap: 25e6 + index * 1e6 }))).toEqual(['heap'])
  expect(failing((index) => ({ handles: 50 + index }))).toEqual(['the number of handles'])
  expect(failing((index) => ({ database: 50e6 + index * 2e6 }))).toEqual(['the database'])
  expect(failing((index) => ({ log: 4e6 + index * 2e6 }))).toEqual(['the database'])
  expect(failing((index) => ({ p99: 10 + index }))).toEqual(['the 99th percentile'])
})

test('growth is that of most pairs, not that of the last value', () => {
  expect(grow([5, 5, 5, 5, 50])).toBe(0)
  expect(grow([0, 1, 2, 3, 4])).toBe(4)
  expect(grow([7])).toBe(0)
})
