import type { Case, Mode } from './case.ts'
import { makeBroken } from './make-broken.ts'
import { makeDelivery } from './make-delivery.ts'
import { makeOperation } from './make-operation.ts'
import { REQUEST_KINDS } from './make-request.ts'
import { Random } from './random.ts'
import { expect, write } from './request.ts'
import type { World } from './world.ts'

/** How many of a hundred cases are of each kind. */
const SHARES: readonly (readonly [
  share: number,
  kind: keyof typeof REQUEST_KINDS | 'broken HTTP' | 'delivery' | 'operations',
])[] = [
  [25, 'parameter values'],
  [5, 'parameter names'],
  [5, 'addresses'],
  [10, 'headers'],
  [5, 'methods'],
  [3, 'other addresses'],
  [6, 'broken HTTP'],
  [6, 'delivery'],
  [35, 'operations'],
]

/** The case of a number: the same for the same seed. */
export function makeCase(seed: number, index: number, world: World, mode: Mode): Case {
  const random = new Random(seed, index)
  const kind = random.weigh(SHARES)
  if (kind === 'broken HTTP') return makeBroken(random)
  if (kind === 'operations') return makeOperation(random, world)
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
