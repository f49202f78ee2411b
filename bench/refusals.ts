/**
 * Times the refusals of the validation results, kind by kind: could a caller learn from how long one takes what its
 * answer does not tell? A `mahi serve` on loopback, one connection, the kinds in a new order in every round.
 *
 *   npm run bench:refusals -- [--samples 2000] [--postgres postgres://...]
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createKey, revokeKeys } from '../src/api/access/keys.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Random } from '../test/support/random.ts'
import { generateFindings } from './data.ts'
import { type Engine, makePlace } from './empty-database.ts'
import { ENVIRONMENT, MAHI } from './mahi.ts'
import { median, startContender } from './measure.ts'

const { values: flags } = parseArgs({
  options: {
    samples: { type: 'string', default: '2000' },
    /** A PostgreSQL in which a schema may be made, and is dropped again. */
    postgres: { type: 'string' },
  },
})
const SAMPLES = Number(flags.samples)
const random = new Random(Date.now())
/** Rounds before the first that counts: compilers, caches, connections. */
const WARM_UP = 500
/** How far the medians of one group may lie apart. */
const MOST = 0.1

const SUBMISSIONS = 300
const KEYS = 100
const [OWN, SECOND, FOREIGN] = ['1001', '1002', '2001']
const CLIENT = 'careers-site'

interface Request {
  readonly token: string
  readonly headers: Readonly<Record<string, string>>
}
interface Kind {
  readonly group: string
  readonly name: string
  readonly make: () => Request
}

const pick = <T>(list: readonly T[]): T => {
  const found = list[Math.floor(Math.random() * list.length)]
  if (found === undefined) throw new Error('nothing to pick from')
  return found
}
/** A token whose last letter is written as its code. */
const encodeLast = (token: string) =>
  `${token.slice(0, -1)}%${token.charCodeAt(token.length - 1).toString(16)}`
const newToken = () => randomBytes(24).toString('base64url')
const newSecret = () => randomBytes(32).toString('base64url')

/** An identity provider: a key that is known, one that is not, and an address that shows the first. */
async function startIssuer() {
  const known = await generateKeyPair('EdDSA')
  const unknown = await generateKeyPair('EdDSA')
  const jwk = { ...(await exportJWK(known.publicKey)), kid: 'known', use: 'sig', alg: 'EdDSA' }
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [jwk] })))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const sign = async (claims: object, signer = known.privateKey) => {
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: 'https://login.example/', aud: 'mahi', sub: 'somebody', exp: now + 86_400, eid: OWN }
    return await new SignJWT({ ...all, scope: 'validation-results:read', ...claims })
      .setProtectedHeader({ alg: 'EdDSA', kid: 'known' })
      .sign(signer)
  }
  return {
    valid: await sign({}),
    expired: await sign({ exp: Math.floor(Date.now() / 1000) - 3600 }),
    elsewhere: await sign({ aud: 'another' }),
    forged: await sign({}, unknown.privateKey),
    settings: {
      JWT_ISSUER: 'https://login.example/',
      JWT_AUDIENCE: 'mahi',
      JWT_JWKS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    },
    stop: () => server.close(),
  }
}

async function fill(database: Database) {
  const publish = async (eid: string) => {
    const token = newToken()
    await publishResults(database, generateFindings(3), { eid, returnId: `return-of-${eid}`, token })
    return token
  }
  const make = async (options: Partial<Parameters<typeof createKey>[1]> = {}) =>
    await createKey(database, {
      client: CLIENT,
      eids: [OWN, SECOND],
      expires: Date.now() + 86_400_000,
      ...options,
    })
  const list = async <T>(count: number, each: () => Promise<T>): Promise<T[]> => {
    const made: T[] = []
    for (let index = 0; index < count; index++) made.push(await each())
    return made
  }
  const own = await list(SUBMISSIONS, () => publish(OWN))
  const foreign = await list(SUBMISSIONS, () => publish(FOREIGN))
  const valid = await list(KEYS, async () => (await make()).key)
  const expired = await list(KEYS, async () => (await make({ expires: Date.now() - 1000 })).key)
  const withoutScope = await list(KEYS, async () => (await make({ scopes: ['occupations:read'] })).key)
  const revoked = await list(KEYS, async () => {
    const { id, key } = await make()
    await revokeKeys(database, [id])
    return key
  })
  return { own, foreign, valid, expired, revoked, withoutScope }
}

type Filled = Awaited<ReturnType<typeof fill>>
type Issuer = Awaited<ReturnType<typeof startIssuer>>

function listKinds({ own, foreign, valid, expired, revoked, withoutScope }: Filled, issuer: Issuer): Kind[] {
  const key = (text: string, more: Record<string, string> = {}) => ({ 'X-API-Key': text, EID: OWN, ...more })
  const bearer = (text: string) => ({ Authorization: `Bearer ${text}`, EID: OWN })
  const wrongSecret = (text: string) => `${text.slice(0, 18)}${newSecret()}`
  const unknownKey = () => `mahi_${randomBytes(6).toString('hex')}_${newSecret()}`
  const without = { EID: OWN }
  const kind = (group: string, name: string, token: () => string, headers: () => Record<string, string>) => ({
    group,
    name,
    make: () => ({ token: token(), headers: headers() }),
  })
  const mine = () => pick(own)
  const others = () => pick(foreign)
  const good = () => key(pick(valid))

  const A = "valid key: what is wrong is not the caller's to know"
  const B = 'key that is not valid'
  const C = 'JSON Web Token that the issuer has signed, and that is not valid'
  // Whether a signature is the issuer's anybody can find out by its public keys.
  const D = 'JSON Web Token that is forged'
  const E = 'no credential'
  // To decode it takes time of its own, which depends on nothing but what was sent.
  const F = 'valid key, and a token with percent signs'
  const G = 'key with a client id that is not its own'
  const somebody = { 'X-Client-ID': 'somebody' }
  return [
    kind(A, 'a token that never existed', newToken, good),
    kind(A, "another organisation's token", others, good),
    kind(A, "another organisation's token and EID", others, () => key(pick(valid), { EID: FOREIGN })),
    kind(A, 'an EID that the key covers, not of this token', mine, () => key(pick(valid), { EID: SECOND })),
    kind(A, 'an EID that the key does not cover', mine, () => key(pick(valid), { EID: FOREIGN })),
    kind(A, 'an EID that does not exist', mine, () => key(pick(valid), { EID: '9999' })),
    kind(A, 'no EID', mine, () => ({ 'X-API-Key': pick(valid) })),
    kind(A, 'a malformed token', () => `!${newToken()}`, good),
    kind(A, 'a key without the scope', mine, () => key(pick(withoutScope))),
    kind(A, 'a key without the scope, a token that never existed', newToken, () => key(pick(withoutScope))),
    kind(B, 'an unknown key', mine, () => key(unknownKey())),
    kind(B, 'an unknown key, and a token that never existed', newToken, () => key(unknownKey())),
    kind(B, 'the id of a key and another secret', mine, () => key(wrongSecret(pick(valid)))),
    kind(B, 'a revoked key', mine, () => key(pick(revoked))),
    kind(B, 'a revoked key and a token that never existed', newToken, () => key(pick(revoked))),
    kind(B, 'an expired key', mine, () => key(pick(expired))),
    kind(B, 'an expired key and a token that never existed', newToken, () => key(pick(expired))),
    kind(B, 'a key that is none by its form', mine, () => key('not-a-key')),
    kind(D, 'own token', mine, () => bearer(issuer.forged)),
    kind(D, 'a token that never existed', newToken, () => bearer(issuer.forged)),
    kind(C, 'expired', mine, () => bearer(issuer.expired)),
    kind(C, 'for another audience', mine, () => bearer(issuer.elsewhere)),
    kind(C, 'valid, and the wrong client id', mine, () => ({ ...bearer(issuer.valid), 'X-Client-ID': 'x' })),
    kind(A, "a valid JWT, and another organisation's token", others, () => bearer(issuer.valid)),
    kind(A, 'a valid JWT, and a token that never existed', newToken, () => bearer(issuer.valid)),
    kind(F, 'a token that never existed', () => encodeLast(newToken()), good),
    kind(F, "another organisation's token", () => encodeLast(others()), good),
    kind(F, 'a malformed token', () => encodeLast(`!${newToken()}`), good),
    kind(G, 'an unknown key', mine, () => key(unknownKey(), somebody)),
    kind(G, 'a revoked key', mine, () => key(pick(revoked), somebody)),
    kind(G, 'an expired key', mine, () => key(pick(expired), somebody)),
    kind(G, "another client's valid key", mine, () => key(pick(valid), somebody)),
    kind(E, 'own token', mine, () => without),
    kind(E, 'a token that never existed', newToken, () => without),
  ]
}

/** Asks on one connection, and answers how long it took, in microseconds. */
class Asker {
  readonly #socket: Socket
  #answered: (bytes: Buffer) => void = () => undefined

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true)
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
      const end = received.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1])
      if (received.length < end + 4 + length) return
      const whole = received
      received = Buffer.alloc(0)
      this.#answered(whole)
    })
  }

  async ask(bytes: Buffer): Promise<number> {
    const answer = new Promise<Buffer>((resolve) => {
      this.#answered = resolve
    })
    const begun = process.hrtime.bigint()
    this.#socket.write(bytes)
    const received = await answer
    const took = Number(process.hrtime.bigint() - begun) / 1000
    if (!received.subarray(0, 12).equals(Buffer.from('HTTP/1.1 401'))) throw new Error(`${received}`)
    return took
  }
}

function render({ token, headers }: Request): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `GET /v1/submissions/${token}/validation-results HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`,
  )
}

async function measure(kinds: readonly Kind[], url: string): Promise<Map<Kind, number[]>> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  const asker = new Asker(socket)
  const times = new Map(kinds.map((kind) => [kind, [] as number[]]))
  // Written beforehand: to make a request at random costs this process time that would count as the service's.
  const rounds = Array.from({ length: WARM_UP + SAMPLES }, () =>
    random.shuffle(kinds).map((kind) => ({ kind, bytes: render(kind.make()) })),
  )
  for (const [index, round] of rounds.entries()) {
    for (const { kind, bytes } of round) {
      const took = await asker.ask(bytes)
      if (index >= WARM_UP) times.get(kind)?.push(took)
    }
  }
  socket.destroy()
  return times
}

/** Prints the medians of each group, and answers whether they are alike. */
function report(times: ReadonlyMap<Kind, readonly number[]>): boolean {
  let alike = true
  for (const [group, kinds] of Map.groupBy(times.keys(), (kind) => kind.group)) {
    const medians = kinds.map((kind) => median(times.get(kind) ?? []))
    const [first = Number.NaN] = medians
    process.stdout.write(`\n${group}\n`)
    for (const [index, kind] of kinds.entries()) {
      const sorted = [...(times.get(kind) ?? [])].sort((a, b) => a - b)
      const quartile = (part: number) => (sorted[Math.floor(sorted.length * part)] ?? Number.NaN).toFixed(0)
      const middle = medians[index] ?? Number.NaN
      process.stdout.write(
        `  ${kind.name.padEnd(54)} median ${middle.toFixed(1).padStart(7)} µs (${quartile(0.25)} to ${quartile(0.75)})  ${(100 * (middle / first - 1)).toFixed(1).padStart(6)} %\n`,
      )
    }
    const apart = Math.max(...medians) / Math.min(...medians) - 1
    process.stdout.write(`  the medians lie ${(100 * apart).toFixed(1)} % apart, ${100 * MOST} % at most\n`)
    if (apart > MOST) alike = false
  }
  return alike
}

async function run(name: string, url: string): Promise<boolean> {
  const database = await openDatabase(url)
  const filled = await fill(database)
  await database.close()
  const issuer = await startIssuer()
  // Requests are counted, as in operation, and never limited.
  const server = await startContender(name, [process.execPath, MAHI, 'serve'], {
    ...ENVIRONMENT,
    DATABASE_URL: url,
    ...issuer.settings,
  })
  try {
    process.stdout.write(`\n${name}, ${SAMPLES} samples of each kind\n`)
    return report(await measure(listKinds(filled, issuer), server.url))
  } finally {
    await server.stop()
    issuer.stop()
  }
}

process.stdout.write(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}\n`)
const engines: [Engine, string][] = [['sqlite', 'SQLite']]
if (flags.postgres !== undefined) engines.push(['postgres', 'PostgreSQL'])
let alike = true
for (const [engine, name] of engines) {
  const place = await makePlace(engine, flags.postgres)
  const isAlike = await run(name, place.commandUrl).finally(() => place.remove())
  alike &&= isAlike
}
process.exitCode = alike ? 0 : 1
