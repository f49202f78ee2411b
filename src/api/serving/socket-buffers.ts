import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import type { Server } from 'node:http'
import { isIPv4, isIPv6, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Budget, Exhausted, type Holding } from '../../foundation/budget/budget.ts'
import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import { expandIpv6 } from '../request/caller.ts'
import { IDLE_TIMEOUT } from './headers.ts'
import { isIdle, lastResponseOn } from './last-response.ts'

/** How often responses that were not counted in advance, such as streams and small ones, are counted. */
const COUNTED_EVERY = 1_000

/** Responses up to this many bytes are not counted in advance: refusals in particular always have room. */
export const SMALL = 16 * 1024

/** Bytes of such responses of a connection that are worth counting. */
const WORTH_COUNTING = 64 * 1024

/** A connection whose client has taken so many bytes since it was last seen has made progress. */
const PROGRESS = 64 * 1024

/** The least time between two readings of the list, in milliseconds. */
const PAUSE = 10

/** How many times as long as a reading took, if that is longer: for thousands of connections, it takes some 10 ms. */
const PAUSE_FACTOR = 9

/** How many times the capacity may be believed to be read between two readings. */
const BELIEVED = 2

/** What Linux holds for one connection at most unless it is configured. */
const DEFAULT_MOST = 4 * 2 ** 20

/** Bytes that a client has not acknowledged, by the name of its connection; no entry if there are none. */
export type Queues = ReadonlyMap<string, number>

/** A connection, and what the operating system may hold of its responses. */
interface Known {
  readonly name: string
  /** How many bytes are counted as written, those of responses that are about to be written included. */
  counted: number
  /** Bytes that the client had taken when it last made progress. */
  taken: number
  holding: Holding | undefined
}

const holding = new WeakMap<Duplex, Known>()

/** Whether the operating system may hold a large part of the responses of a connection. */
export function mayHoldMuch(connection: Duplex): boolean {
  return (holding.get(connection)?.holding?.amount ?? 0) > 0
}

/**
 * Closes a connection whose client has stopped reading. After an ordinary close, the operating system would keep what
 * the client has not read for minutes, and no process could release it.
 */
export function abandon(connection: Duplex): void {
  if (mayHoldMuch(connection)) reset(connection)
  else connection.destroy()
}

function reset(connection: Duplex & { resetAndDestroy?(): void }): void {
  if (connection.destroyed) return
  connection.resetAndDestroy?.()
  // On its own, that would wait until everything is written.
  connection.destroy()
}

/**
 * Limits what the operating system holds of responses that their clients have not read. It accepts up to 4 MiB for each
 * connection at once, so a response that has been written is not one that has been read. Large responses are counted
 * before they are written. A client that asks again on its connection has probably read the responses before, which
 * then count no longer; the system's list of connections tells what clients have really read. It is read when there is
 * no room, when much is counted, and when much was believed while all connections together need much memory. It is a
 * file of Linux: elsewhere, nothing is limited.
 */
export class SocketBuffers {
  readonly #budget: Budget
  readonly #readQueues: () => Promise<Queues>
  readonly #readMemory: () => number
  readonly #mostOfOne: number | undefined
  readonly #connections = new Set<Socket>()
  /** A reading that has not begun: everyone who joins it sees a state from after the call. */
  #next: Promise<void> | undefined
  #reading: Promise<void> | undefined
  /** When the next reading may begin. */
  #due = Number.NEGATIVE_INFINITY
  /** Bytes that were no longer counted since the last reading, because their clients asked again. */
  #believed = 0

  /** @param mostOfOne the most bytes that the system holds for a connection; `undefined` limits nothing */
  constructor(
    budget: Budget,
    readQueues = readSystemQueues,
    mostOfOne = readMostOfOne(),
    readMemory = readSystemMemory,
  ) {
    this.#budget = budget
    this.#readQueues = readQueues
    this.#readMemory = readMemory
    this.#mostOfOne = mostOfOne
  }

  watch(server: Server): void {
    if (this.#mostOfOne === undefined) return
    server.on('connection', (socket: Socket) => {
      this.#connections.add(socket)
      const known: Known = { name: nameOf(socket), counted: 0, taken: 0, holding: undefined }
      holding.set(socket, known)
      socket.once('close', () => {
        this.#connections.delete(socket)
        known.holding?.release()
        known.holding = undefined
      })
    })
    server.on('timeout', (socket: Socket) => void this.#endIdle(socket))
    const timer = setInterval(() => this.#countOthers(), COUNTED_EVERY).unref()
    server.once('close', () => clearInterval(timer))
  }

  /**
   * Counts a response that is about to be written to a connection.
   *
   * @throws {Exhausted}
   */
  hold(connection: Socket, bytes: number, owner: string): MaybePromise<void> {
    const known = holding.get(connection)
    if (bytes <= SMALL || known === undefined || this.#mostOfOne === undefined) return
    this.#believe(connection, known)
    const amount = Math.min(bytes, this.#mostOfOne)
    const counted = known.holding?.owner ?? owner
    if (this.#budget.hasRoom(counted, amount)) return this.#add(connection, known, bytes, owner)
    // Most of what is counted may have been read meanwhile.
    return this.#update().then(() => this.#add(connection, known, bytes, owner))
  }

  /** Counts the responses before as read, unless some of them is still with this process. */
  #believe(connection: Socket, { holding }: Known): void {
    if (holding === undefined || connection.writableLength > 0) return
    this.#believed += holding.amount
    holding.count(-holding.amount)
    if (this.#isDoubtful(this.#budget.capacity * BELIEVED)) this.#check()
  }

  /** Whether more than `most` was believed, and the system holds enough that it may be untrue. */
  #isDoubtful(most: number): boolean {
    if (this.#believed <= most) return false
    // The list takes milliseconds to read; how much memory all connections need is one line.
    if (this.#readMemory() > this.#budget.capacity / 2) return true
    this.#believed = 0
    return false
  }

  #add(connection: Socket, known: Known, bytes: number, owner: string): void {
    if (connection.destroyed) return
    const uncounted = Math.max(0, connection.bytesWritten - known.counted)
    const most = (this.#mostOfOne ?? 0) - (known.holding?.amount ?? 0)
    const amount = Math.min(bytes + uncounted, most)
    if (known.holding === undefined) known.holding = this.#budget.take(owner, amount, () => reset(connection))
    else known.holding.add(amount)
    known.counted = Math.max(known.counted, connection.bytesWritten) + bytes
  }

  /** Closes a connection on which nothing has been sent or received for long, unless its client still reads. */
  async #endIdle(connection: Socket): Promise<void> {
    if (mayHoldMuch(connection)) await this.#update()
    const { since = Number.NEGATIVE_INFINITY } = holding.get(connection)?.holding ?? {}
    if (performance.now() - since < IDLE_TIMEOUT) connection.setTimeout(IDLE_TIMEOUT)
    else abandon(connection)
  }

  /** Counts what was written without `hold`, and ends stopped readers if there is too much of it. */
  #countOthers(): void {
    for (const connection of this.#connections) {
      const known = holding.get(connection)
      const uncounted = connection.bytesWritten - (known?.counted ?? 0)
      if (known === undefined || uncounted < WORTH_COUNTING) continue
      const most = (this.#mostOfOne ?? 0) - (known.holding?.amount ?? 0)
      known.holding ??= this.#budget.take('', 0, () => reset(connection))
      known.holding.count(Math.min(uncounted, most))
      known.counted = connection.bytesWritten
    }
    const { used, capacity } = this.#budget
    if (used > capacity / 2 || this.#isDoubtful(capacity)) this.#check()
  }

  /** Finds out what clients have really read, and ends stopped readers if there is too much that they have not. */
  #check(): void {
    this.#believed = 0
    void this.#update().then(() => {
      try {
        this.#budget.assertRoom('', 0)
      } catch (error) {
        if (!(error instanceof Exhausted)) throw error
      }
    })
  }

  /** Subtracts what clients have read by now. Callers at the same time share one reading of the list. */
  #update(): Promise<void> {
    this.#next ??= this.#readInTime().finally(() => {
      this.#reading = undefined
    })
    return this.#next
  }

  async #readInTime(): Promise<void> {
    await this.#reading
    const wait = this.#due - performance.now()
    if (wait > 0) await sleep(wait, undefined, { ref: false })
    this.#reading = this.#next
    this.#next = undefined
    const start = performance.now()
    // Without the list, what is counted stays an upper bound.
    await this.#readQueues().then(
      (queues) => this.#subtract(queues),
      () => undefined,
    )
    const end = performance.now()
    this.#due = end + Math.max(PAUSE, (end - start) * PAUSE_FACTOR)
  }

  #subtract(queues: Queues): void {
    for (const connection of this.#connections) {
      const known = holding.get(connection)
      if (known?.holding === undefined) continue
      const queued = queues.get(known.name) ?? 0
      const { bytesWritten, writableLength } = connection
      const last = lastResponseOn(connection)
      // A response may have been counted and then refused, or have no body.
      if (last === undefined || isIdle(last)) known.counted = Math.min(known.counted, bytesWritten)
      const expected = Math.max(0, known.counted - bytesWritten) + writableLength
      const amount = Math.min(queued + expected, this.#mostOfOne ?? 0)
      const taken = bytesWritten - writableLength - queued
      if (taken >= known.taken + PROGRESS) {
        known.taken = taken
        known.holding.progress()
      }
      known.holding.count(amount - known.holding.amount)
      if (amount > 0) continue
      known.holding.release()
      known.holding = undefined
    }
  }
}

/** A line of the list: local port, remote address and port, state, bytes that are not acknowledged if there are any. */
const LINE =
  /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) [0-9A-F]{2} (?!00000000)([0-9A-F]{8}):/gm

/** Reads the lists of Linux (`man 5 proc_pid_net`). */
async function readSystemQueues(): Promise<Queues> {
  // Without IPv6, there is no second list.
  const lists = [await readList('tcp'), await readList('tcp6').catch(() => '')]
  return readQueues(lists.join(''))
}

/**
 * The memory that Linux holds for what all TCP connections of the machine have sent and received, in bytes (`man 5
 * proc_pid_net`, `sockstat`); up to 1 MiB for each processor may be missing. Infinite if it is not known.
 */
function readSystemMemory(): number {
  try {
    const [, pages] = /^TCP:.* mem (\d+)/m.exec(readFileSync('/proc/self/net/sockstat', 'latin1')) ?? []
    return pages === undefined ? Number.POSITIVE_INFINITY : Number(pages) * readPageSize()
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

const AT_PAGESZ = 6n
const LARGEST_PAGE = 64 * 1024
let pageSize: number | undefined

/** The size of a page of memory, in bytes (`man 3 getauxval`); the largest of any processor if it is not known. */
function readPageSize(): number {
  if (pageSize === undefined) {
    const values = new BigUint64Array(new Uint8Array(readFileSync('/proc/self/auxv')).buffer)
    const at = values.findIndex((value, index) => index % 2 === 0 && value === AT_PAGESZ)
    pageSize = at < 0 ? LARGEST_PAGE : Number(values[at + 1])
  }
  return pageSize
}

/** Characters of a list that are read in a turn of the event loop: a few milliseconds, and some 1,700 connections. */
const READ_PER_TURN = 512 * 1024

/**
 * Reads a list in a few turns of the event loop. The system returns at most a page of 4 KiB at a time, so that an
 * asynchronous reading takes hundreds of turns: seconds, while the service is busy.
 */
async function readList(name: string): Promise<string> {
  const list = openSync(`/proc/self/net/${name}`, 'r')
  try {
    const part = Buffer.allocUnsafe(64 * 1024)
    let text = ''
    for (let turn = 1; ; ) {
      const length = readSync(list, part)
      if (length === 0) return text
      text += part.toString('latin1', 0, length)
      if (text.length < turn * READ_PER_TURN) continue
      turn++
      await takeTurn()
    }
  } finally {
    closeSync(list)
  }
}

export function readQueues(lists: string): Queues {
  const queues = new Map<string, number>()
  for (const [, local, remote, bytes = ''] of lists.matchAll(LINE))
    queues.set(`${local} ${remote}`, Number.parseInt(bytes, 16))
  return queues
}

function readMostOfOne(): number | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    readFileSync('/proc/self/net/tcp')
    const [, , most] = readFileSync('/proc/sys/net/ipv4/tcp_wmem', 'latin1').split('\t')
    return Number(most) || DEFAULT_MOST
  } catch {
    return undefined
  }
}

/** The name of a connection in the list, where each four bytes of an address are a number in the machine's order. */
export function nameOf({
  localPort = 0,
  remoteAddress = '',
  remotePort = 0,
}: Pick<Socket, 'localPort' | 'remoteAddress' | 'remotePort'>): string {
  const groups = bytesOf(remoteAddress).toString('hex').match(/.{8}/g) ?? []
  const hex = groups.map((group) => Buffer.from(group, 'hex').reverse().toString('hex')).join('')
  const port = (number: number) => number.toString(16).padStart(4, '0')
  return `${port(localPort)} ${hex}:${port(remotePort)}`.toUpperCase()
}

/** The bytes of an address, whose zone does not matter; none if its connection is closed already. */
function bytesOf(address: string): Buffer {
  const [bare = ''] = address.split('%', 1)
  if (isIPv4(bare)) return Buffer.from(bare.split('.').map(Number))
  return Buffer.from(isIPv6(bare) ? expandIpv6(bare).flatMap((group) => [group >> 8, group & 255]) : [])
}
