import { METHODS } from 'node:http'
import type { Case, Expected, Mode, Step } from './case.ts'
import { REQUEST_KINDS } from './make-request.ts'
import type { Random } from './random.ts'
import { expect, type Request, setHeader, write } from './request.ts'
import type { World } from './world.ts'

const KINDS = Object.keys(REQUEST_KINDS) as (keyof typeof REQUEST_KINDS)[]

const malformed = ({ malformed, target }: Request) => malformed !== 'no' || /[^!-~]/.test(target)

/** A request after which the connection stays open. */
function lasting(random: Random, world: World): Request {
  for (;;) {
    const request = REQUEST_KINDS[random.pick(KINDS)](random, world)
    const closes = request.headers.some(([name]) =>
      ['connection', 'upgrade', 'expect'].includes(name.toLowerCase()),
    )
    const isRight = METHODS.includes(request.method) && request.method !== 'CONNECT' && !malformed(request)
    const isLarge =
      write(request).length > 15_000 || request.target.length > 8000 || request.headers.length > 900
    if (!closes && !isLarge && isRight && request.version === '1.1') return request
  }
}

type Making = (random: Random, world: World, mode: Mode) => Omit<Case, 'kind' | 'alone'>

const asked = (requests: readonly Request[], { data }: World, mode: Mode): Expected[] =>
  requests.map((request) => expect(request, data, mode))
const bytesOf = (requests: readonly Request[]): string => requests.map(write).join('')

/** Cuts bytes in pieces, with pauses between them. */
function inPieces(random: Random, bytes: string, most: number, pauses: readonly number[]): Step[] {
  const cuts = Array.from({ length: random.between(1, most) }, () => random.below(bytes.length)).sort(
    (one, other) => one - other,
  )
  return [0, ...cuts].flatMap((start, index): Step[] => [
    { send: bytes.slice(start, cuts[index] ?? bytes.length) },
    { pause: random.pick(pauses) },
  ])
}

const several = (random: Random, world: World, most: number) =>
  Array.from({ length: random.between(2, most) }, () => lasting(random, world))

const MAKERS: Readonly<Record<string, Making>> = {
  'in pieces': (random, world, mode) => {
    const request = lasting(random, world)
    const steps = inPieces(random, write(request), 8, [0, 0, 1, 5])
    return { what: '', steps, expected: asked([request], world, mode), ends: undefined }
  },
  'byte by byte': (random, world, mode) => {
    const request = lasting(random, world)
    const head = write({ ...request, body: '' })
    const start = Math.max(0, head.length - random.between(2, 120))
    const slow = [...head.slice(start)].flatMap((send): Step[] => [{ send }, { pause: 1 }])
    const steps: Step[] = [{ send: head.slice(0, start) }, ...slow, { send: request.body }]
    return { what: '', steps, expected: asked([request], world, mode), ends: undefined }
  },
  pipelined: (random, world, mode) => {
    const requests = several(random, world, random.pick([3, 10, 40]))
    const steps = random.chance(0.5)
      ? [{ send: bytesOf(requests) }]
      : inPieces(random, bytesOf(requests), 5, [0, 1])
    return { what: `${requests.length}`, steps, expected: asked(requests, world, mode), ends: undefined }
  },
  'pipelined, the last one broken': (random, world, mode) => {
    const requests = several(random, world, 8)
    const bytes = `${bytesOf(requests)}${random.pick(['nonsense\r\n\r\n', '\u0000\r\n', 'GET /livez HTTP/1.1\r\nX Y: 1\r\n\r\n', 'GET /livez HTTP/3.0\r\n\r\n'])}`
    const expected = [...asked(requests, world, mode), { method: 'GET', statuses: [400] }]
    return { what: `${requests.length}`, steps: [{ send: bytes }], expected, ends: true }
  },
  'pipelined after the last one': (random, world, mode) => {
    const requests = several(random, world, 5)
    const last = requests.at(-1)
    if (last !== undefined) setHeader(last, 'Connection', 'close')
    const steps = [{ send: bytesOf(requests) + write(lasting(random, world)) }]
    return { what: `${requests.length}`, steps, expected: asked(requests, world, mode), ends: true }
  },
  'half closed': (random, world, mode) => {
    const requests = random.chance(0.5) ? [lasting(random, world)] : several(random, world, 6)
    return {
      what: `${requests.length}`,
      steps: [{ send: bytesOf(requests) }, { close: 'half' }],
      expected: asked(requests, world, mode),
      ends: true,
    }
  },
  'half closed within a request': (random, world, mode) => {
    const requests = random.chance(0.7) ? [] : several(random, world, 4)
    const head = write({ ...lasting(random, world), body: '' })
    const part = head.slice(0, random.between(1, head.length - 1))
    const expected = [...asked(requests, world, mode), { method: 'GET', statuses: [400] }]
    return { what: '', steps: [{ send: bytesOf(requests) + part }, { close: 'half' }], expected, ends: true }
  },
  'nothing said': () => ({ what: '', steps: [{ close: 'half' }], expected: [], ends: true }),
  'cut off': (random, world) => {
    const bytes = bytesOf(several(random, world, 10))
    const steps: Step[] = [
      { send: bytes.slice(0, random.between(1, bytes.length)) },
      { pause: random.pick([0, 0, 1, 3]) },
      { close: 'reset' },
    ]
    return { what: '', steps, expected: [], ends: undefined }
  },
  mutated: (random, world) => {
    // The answer to HEAD could not be told from that to what it may have become.
    const requests = several(random, world, 4).filter(({ method }) => method !== 'HEAD')
    const bytes = mutate(random, bytesOf(requests))
    return { what: '', steps: [{ send: bytes }, { close: 'half' }], expected: undefined, ends: true }
  },
}

export function mutate(random: Random, bytes: string): string {
  let text = bytes === '' ? 'GET' : bytes
  for (let count = random.between(1, 5); count > 0; count--) {
    const [start, length] = [random.below(text.length), random.between(1, 8)]
    const [before, part, after] = [
      text.slice(0, start),
      text.slice(start, start + length),
      text.slice(start + length),
    ]
    text = random.pick([
      () => before + String.fromCharCode(part.charCodeAt(0) ^ (1 << random.below(8))) + text.slice(start + 1),
      () => before + random.bytes(length) + after,
      () => before + after,
      () => before + part + part + after,
      () =>
        before + random.pick(['\r', '\n', '\r\n', '\r\n\r\n', '\u0000', ' ', ':', '%', '\t']) + part + after,
      () => before + part,
    ])()
    if (text === '') return '\r'
  }
  return text
}

/** A request or several, delivered in a way that no ordinary client does. */
export function makeDelivery(random: Random, world: World, mode: Mode): Case {
  const name = random.pick([...Object.keys(MAKERS), 'pipelined', 'mutated', 'mutated'])
  const made = MAKERS[name]?.(random, world, mode)
  if (made === undefined) throw new Error(`there is no ${name}`)
  return {
    ...made,
    kind: 'delivery',
    what: `${name} ${made.what}`.trim(),
    alone: made.expected === undefined || made.ends !== undefined || name === 'cut off',
  }
}
