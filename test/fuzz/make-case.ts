import type { Case, Mode } from './case.ts'
import { makeBroken } from './make-broken.ts'
import { makeDelivery } from './make-delivery.ts'
import { REQUEST_KINDS } from './make-request.ts'
import { Random } from './random.ts'
import { expect, write } from './request.ts'
import type { World } from './world.ts'

/** How many of a hundred cases are of each kind. */
const SHARES: readonly (readonly [
  share: number,
  kind: keyof typeof REQUEST_KINDS | 'broken HTTP' | 'delivery',
])[] = [
  [40, 'parameter values'],
  [8, 'parameter names'],
  [8, 'addresses'],
  [16, 'headers'],
  [8, 'methods'],
  [4, 'other addresses'],
  [8, 'broken HTTP'],
  [8, 'delivery'],
]

/** The case of a number: the same for the same seed. */
export function makeCase(seed: number, index: number, world: World, mode: Mode): Case {
  const random = new Random(seed, index)
  const kind = random.weigh(SHARES)
  if (kind === 'broken HTTP') return makeBroken(random)
  if (kind === 'delivery') return makeDelivery(random, world, mode)
  const request = REQUEST_KINDS[kind](random, world)
  return {
    kind,
    what: `${request.method} ${request.operation?.id ?? 'another address'}`,
    steps: [{ send: write(request) }],
    expected: [expect(request, world.data, mode)],
    ends: undefined,
    alone: false,
  }
}
