import { expect, test } from 'vitest'
import { judge } from '../tools/attacks/promises.ts'

const NOTHING = { health: 3, response: 4, upload: 20, sockets: undefined, growth: undefined }
const ATTACK = { promise: 'others are served', limits: { growth: 2 ** 20 } }

test.each([
  [{}, []],
  [{ health: 1_000, growth: 2 ** 20 }, []],
  [{ health: 13_800 }, ['/livez or /readyz took 13800 ms, at most 1000 ms allowed']],
  [{ growth: 1852 * 2 ** 20 }, ['the growth of the database took 1852 MiB, at most 1 MiB allowed']],
])('others who notice %o of an attack: %j', (noticed, faults) => {
  expect(judge(ATTACK, { ...NOTHING, ...noticed })).toEqual(
    faults.map((fault) => `promised: others are served; ${fault}`),
  )
})
