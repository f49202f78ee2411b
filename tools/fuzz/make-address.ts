import type { Random } from './random.ts'
import type { Request } from './request.ts'
import { TEXTS } from './texts.ts'
import { breakEncoding } from './values.ts'
import { begin, place, type World } from './world.ts'

/** Ways to write the address of an operation: `rest` is what comes after the version. */
const ADDRESSES: readonly ((rest: string, random: Random, request: Request) => string)[] = [
  (rest, random, request) => {
    request.routed = `/v1${rest}`
    return (
      random.pick([
        '',
        '/v1.0',
        '/v1',
        'http://localhost/v1',
        'HTTPS://user@example.org:99',
        'http://[::1]:1/v1.0',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.wrongVersion = 'yes'
    request.routed = `/v1${rest}`
    return (
      random.pick([
        '/v9',
        '/v0',
        '/v2',
        '/v1.1',
        '/v01',
        '/v1.0.0',
        '/v1.00',
        `/v${'9'.repeat(400)}`,
        'http://a/v3',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.missing = 'yes'
    return (
      random.pick([
        '/V1',
        '/v1.',
        '/vx',
        '/v',
        '//v1',
        '/v1/',
        '/v-1',
        '/v1%00',
        '/./v1',
        '/x/../v1',
        '/v1;a',
        '/api/v1',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.missing = 'yes'
    request.routed = `/v1${rest}/`
    if (rest.includes(request.token) && random.chance(0.3))
      return `/v1${rest.replace(request.token, `x/${request.token}`)}`
    const ending = random.pick(['/', '/x', '.json', '%20', '%00', '/..', ';a=1', '/%2e', '%2F'])
    // What follows the list of occupations may be a code that no record has.
    if (rest === '/occupations' && ending.length > 1 && ending.startsWith('/')) request.missing = 'maybe'
    return `/v1${rest}${ending}`
  },
  (rest, random, request) => {
    // A letter that need not be encoded is the same address: it is taken or not there, but nothing else.
    request.missing = 'maybe'
    const index = random.between(1, rest.indexOf('/', 1) === -1 ? rest.length - 1 : rest.indexOf('/', 1) - 1)
    return `/v1${rest.slice(0, index)}%${rest.charCodeAt(index).toString(16)}${rest.slice(index + 1)}`
  },
  (rest, random, request) => {
    request.malformed = 'yes'
    return `/v1${rest}#${random.pick(['', 'a', '?Limit=5', '/'])}`
  },
  (rest, random, request) => {
    request.malformed = 'yes'
    return `/v1${rest}${random.pick(['%', '%zz', '%C4', '%ff', '%C0%80', '%ED%A0%80', '/%E0%A4'])}`
  },
  (rest, random, request) => {
    request.routed = `/v1${rest}?${'&'.repeat(random.pick([100, 8100, 8192 - 4 - rest.length, 8189 - rest.length, 8300, 12_000]))}`
    return request.routed
  },
]

/** A request whose address is written in another way, or is another. */
export function makeAddress(random: Random, world: World): Request {
  const request = begin(random, world)
  const withToken = request.target.includes(request.token)
  if (withToken && random.chance(0.5)) {
    makeToken(request, random)
    return request
  }
  const rest = request.target.replace(/^\/v1/, '')
  request.target = random.pick(ADDRESSES)(rest, random, request)
  if (request.target.startsWith('/v1') && request.routed.length < request.target.length)
    request.routed = request.target
  return request
}

function makeToken(request: Request, random: Random): void {
  const { target, token } = request
  const put = (segment: string) =>
    place(
      request,
      target.replace(`/${token}/`, () => `/${segment}/`),
    )
  if (random.chance(0.2)) {
    put(
      [...token]
        .map((letter) => (random.chance(0.5) ? `%${letter.charCodeAt(0).toString(16)}` : letter))
        .join(''),
    )
    return
  }
  request.foreign = 'yes'
  if (random.chance(0.2)) {
    put(breakEncoding(random))
    // Bytes that are not ASCII are no token either.
    request.malformed = 'maybe'
    return
  }
  const text = random.weigh([
    [3, () => random.pick(TEXTS)],
    [1, () => 'fuzz-other'],
    [2, () => token + random.pick(TEXTS)],
    [
      1,
      () =>
        random.pick([
          token.toUpperCase(),
          `${token} `,
          ` ${token}`,
          `${token}/`,
          `/${token}`,
          '.',
          '..',
          '*',
        ]),
    ],
    [1, () => random.pick(['a', '\u0101', '%', '/']).repeat(random.pick([1, 63, 64, 255, 1000, 2600, 7000]))],
  ])()
  put(
    random.chance(0.5)
      ? encodeURIComponent(text.toWellFormed())
      : [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}
