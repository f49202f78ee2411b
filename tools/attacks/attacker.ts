import { request as send } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Ask, Attack, Target } from './attack.ts'
import { ATTACKS } from './table.ts'

/** The addresses of loopback that attackers send from: limits apply to each. */
const ADDRESSES = 8
/** New connections a second, so that the sockets of this machine last. */
const MOST_OPENED = 5_000
/** Months in which returns of the samples' definition are due. */
const MONTHS = ['03', '04', '08', '12']

let next = 0
const ownAddress = () => `127.0.1.${1 + (next++ % ADDRESSES)}`

function headersOf(target: Target, ask: Ask): Record<string, string> {
  const eid = ask.eid === undefined ? target.eid : (target.eids[ask.eid] ?? '')
  const length = ask.length ?? (ask.body === undefined ? undefined : Buffer.byteLength(ask.body))
  return {
    host: 'localhost',
    ...(target.key !== '' && { 'x-api-key': target.key, eid }),
    ...(length !== undefined && { 'content-length': String(length) }),
    ...ask.headers,
  }
}

function toBytes(target: Target, ask: Ask): Buffer {
  if (ask.raw !== undefined) return Buffer.from(ask.raw, 'latin1')
  const lines = Object.entries(headersOf(target, ask)).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${ask.method ?? 'GET'} ${ask.path} HTTP/1.1\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(ask.body ?? '')])
}

/** A connection that reads nothing. It never fails: an attacker does not mind. */
function open({ port }: Target): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: ownAddress() })
  socket.pause()
  return socket.on('error', () => undefined)
}

/** Sends a request, and returns its response; the status is 0 if there is none. */
export function call(target: Target, ask: Ask, localAddress?: string): Promise<Answer> {
  return new Promise((resolve) => {
    const { method = 'GET', path = '/', body } = ask
    const none = () => resolve({ status: 0, body: '' })
    const { port } = target
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: headersOf(target, ask),
      agent: false,
    } as const
    const request = send({ ...options, ...(localAddress !== undefined && { localAddress }) }, (response) => {
      let text = ''
      response.setEncoding('latin1').on('data', (part: string) => {
        if (text.length < 1_000_000) text += part
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      response.once('error', none)
    })
    request.once('error', none)
    request.end(body)
  })
}

/** New submissions of the attacker's organisations; fewer beyond their limits. */
async function prepare(target: Target, count: number): Promise<string[]> {
  const created = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const number = process.pid * 7 + index
      const returnId = `20${String(number % 100).padStart(2, '0')}${MONTHS[Math.floor(number / 100) % 4]}`
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ returnId })
      return await call(target, { method: 'POST', path: '/v1/submissions', headers, body, eid: index % 3 })
    }),
  )
  return created.flatMap(({ status, body }) =>
    status === 200 || status === 201
      ? [(JSON.parse(body) as { submissionToken: string }).submissionToken]
      : [],
  )
}

function judge({ wrong }: Attack, { key }: Target, answers: readonly Answer[]): void {
  const failed = answers.find(({ status }) => status === 500)
  if (failed !== undefined) throw new Error(`a response is 500: ${failed.body.slice(0, 300)}`)
  if (key !== '' && answers.some(({ body }) => body.includes(key)))
    throw new Error('a response shows the key')
  const found = wrong?.(answers)
  if (found !== undefined) throw new Error(found)
}

/** Attacks until the signal. It throws if a response breaks the promise. */
async function run(attack: Attack, target: Target, signal: AbortSignal): Promise<void> {
  const tokens = await prepare(target, attack.submissions ?? 0)
  if (attack.submissions !== undefined && tokens.length === 0)
    throw new Error('no submission could be created')
  if (attack.how === 'hold' || attack.how === 'drip') return await hold(attack, target, tokens, signal)
  await Promise.all(
    Array.from({ length: attack.count }, async (_, line) => {
      for (let round = 0; !signal.aborted; round++, await sleep(1)) {
        const asks = attack.send({ target, tokens, line, round })
        const answers: Answer[] = []
        for (const ask of asks) answers.push(await call(target, ask, ownAddress()))
        judge(attack, target, answers)
      }
    }),
  )
}

/** Keeps so many connections open; those that are closed are opened again. */
async function hold(
  attack: Attack,
  target: Target,
  tokens: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  let sockets: Socket[] = []
  const begun = performance.now()
  // A key has fewer requests than connections without one.
  const most = attack.caller === 'key' ? 20 : MOST_OPENED
  for (let opened = 0; !signal.aborted; ) {
    sockets = sockets.filter(({ destroyed }) => !destroyed)
    while (sockets.length < attack.count && opened < most + (most * (performance.now() - begun)) / 1_000) {
      const socket = open(target)
      const asks = attack.send({ target, tokens, line: opened++, round: 0 })
      if (asks.length > 0) socket.write(Buffer.concat(asks.map((ask) => toBytes(target, ask))))
      sockets.push(socket)
    }
    if (attack.how === 'drip') for (const socket of sockets) socket.write('x')
    await sleep(attack.how === 'drip' ? 500 : 20)
  }
}

// A separate process, so that the other callers are measured without it: attacker.ts NAME TARGET
const [name, text] = process.argv.slice(2)
if (import.meta.main && text !== undefined) {
  const found = ATTACKS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no attack has the name ${name}`)
  process.on('disconnect', () => process.exit(0))
  process.send?.('begun')
  const target = JSON.parse(text) as Target
  const own = found.caller === 'key' ? target : { ...target, key: '' }
  await run(found, own, new AbortController().signal)
}
