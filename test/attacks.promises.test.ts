import { expect, test } from 'vitest'
import { judge, type Noticed, USUAL } from '../tools/attacks/promises.ts'

const NOTHING: Noticed = {
  health: 3,
  response: 4,
  upload: 20,
  unavailable: 0,
  sockets: undefined,
  growth: undefined,
}
const LIMITS = { ...USUAL, health: 1_000, unavailable: 0, sockets: 64 * 2 ** 20, growth: 2 ** 20 }

test('an attack that nobody notices keeps its promise', () => {
  expect(judge('others are served', LIMITS, NOTHING)).toEqual([])
  expect(judge('others are served', LIMITS, { ...LIMITS })).toEqual([])
})

test.each([
  [{ health: 13_800 }, '/livez or /readyz took 13800 ms, at most 1000 ms allowed'],
  [{ response: 5_001 }, 'another caller waited 5001 ms for a response, at most 5000 ms allowed'],
  [{ upload: 16_000 }, "another organisation's upload took 16000 ms, at most 15000 ms allowed"],
  [{ unavailable: 1 }, 'another caller got 503 1 times, at most 0 allowed'],
  [{ sockets: 450 * 2 ** 20 }, 'the kernel held 450 MiB for connections, at most 64 MiB allowed'],
  [{ growth: 1852 * 2 ** 20 }, 'the database grew by 1852 MiB, at most 1 MiB allowed'],
])('%o breaks the promise of an attack', (noticed, fault) => {
  expect(judge('others are served', LIMITS, { ...NOTHING, ...noticed })).toEqual([
    `promised: others are served; ${fault}`,
  ])
})

test('on a busy machine, only times have slack', () => {
  const noticed = { ...NOTHING, health: 4_999, growth: 2 * 2 ** 20 }
  expect(judge('others are served', LIMITS, noticed, 5)).toEqual([
    'promised: others are served; the database grew by 2 MiB, at most 1 MiB allowed',
  ])
})
