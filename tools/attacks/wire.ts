import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What an attacker knows of the service. */
export interface Target {
  readonly port: number
  /** A key for one organisation with every scope that a caller can have; empty for an attacker without one. */
  readonly key: string
  readonly eid: string
  /** All organisations of the key. */
  readonly eids: readonly string[]
  /** A submission with many findings. */
  readonly token: string
  /** Whether nobody else attacks, so that what takes long does so because of this attack. */
  readonly alone: boolean
}

/** The addresses of loopback that attackers without a key send from: limits apply to each. */
const ADDRESSES = 8

let next = 0

/** A connection that reads only when told to. It never fails: an attacker does not mind. */
export class Wire {
  readonly socket: Socket
  readonly opened: Promise<void>

  constructor({ port }: Target) {
    this.socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${1 + (next++ % ADDRESSES)}` })
    this.socket.pause()
    this.socket.on('error', () => undefined)
    this.opened = new Promise((resolve) => {
      this.socket.once('connect', resolve)
      this.socket.once('close', () => resolve())
    })
  }

  get closed(): boolean {
    return this.socket.destroyed
  }

  /** Sends bytes and waits until the operating system has them, the connection is closed or time is up. */
  async send(bytes: string | Buffer, patience = 2_000): Promise<void> {
    await this.opened
    if (this.closed || this.socket.write(bytes)) return
    await Promise.race([
      new Promise<void>((resolve) => {
        this.socket.once('drain', resolve)
        this.socket.once('close', () => resolve())
      }),
      sleep(patience),
    ])
  }

  /** Reads and discards everything from now on. */
  read(): this {
    this.socket.resume()
    return this
  }

  /** The status of the first response. */
  async status(): Promise<number> {
    const chunk = await new Promise<Buffer | undefined>((resolve) => {
      this.socket.once('data', resolve)
      this.socket.once('close', () => resolve(undefined))
      this.socket.resume()
    })
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk?.toString('latin1') ?? '')?.[1] ?? 0)
  }

  close(): void {
    this.socket.destroy()
  }
}

/** Sends bytes on a connection of their own, and waits for the first response. */
export async function exchange(target: Target, bytes: string | Buffer): Promise<void> {
  const wire = new Wire(target)
  await wire.send(bytes)
  await wire.status()
  wire.close()
}

/** A request as bytes; `body` without Content-Length is the caller's matter. */
export function request(
  target: Target,
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
  body: string | Buffer = '',
): Buffer {
  const all = {
    host: 'localhost',
    ...(target.key !== '' && { 'x-api-key': target.key, eid: target.eid }),
    ...(body.length > 0 && { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    Buffer.from(body),
  ])
}

/** A well-formed exchange, for what an attack needs beforehand. */
export async function call(
  target: Target,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(`http://127.0.0.1:${target.port}${path}`, {
      method,
      ...(body !== undefined && { body: body as BodyInit }),
      headers: { ...(target.key !== '' && { 'x-api-key': target.key, eid: target.eid }), ...headers },
    })
    return { status: response.status, body: await response.text() }
  } catch {
    return { status: 0, body: '' }
  }
}

/** Repeats work on so many lines at once until it is over. */
export async function repeat(
  signal: AbortSignal,
  lines: number,
  work: (line: number, round: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: lines }, async (_, line) => {
      for (let round = 0; !signal.aborted; round++) {
        await work(line, round)
        await sleep(1)
      }
    }),
  )
}

/** Opens connections, sends something on each, and keeps them as they are; those that are closed are opened again. */
export async function hold(
  target: Target,
  signal: AbortSignal,
  count: number,
  bytes: (index: number) => string | Buffer,
  { each = 5_000, reads = false } = {},
): Promise<void> {
  const wires: Wire[] = []
  const begun = performance.now()
  for (let sent = 0; !signal.aborted; ) {
    if (wires.length >= count) {
      const open = wires.filter(({ closed }) => !closed)
      if (open.length === wires.length) await sleep(50)
      wires.splice(0, wires.length, ...open)
      continue
    }
    // At most so many a second, so that sockets of this machine last.
    if (sent > (each * (performance.now() - begun)) / 1000) {
      await sleep(5)
      continue
    }
    const wire = new Wire(target)
    if (reads) wire.read()
    wires.push(wire)
    void wire.send(bytes(sent++), 60_000)
  }
  for (const wire of wires) wire.close()
}
