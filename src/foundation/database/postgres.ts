import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Exhausted, type Slot, Slots } from '../slots.ts'
import { assertStillAllowed, currentCaller } from './caller.ts'
import {
  type Database,
  DatabaseBusy,
  DatabaseUnavailable,
  DatabaseUnusable,
  type Follower,
  type Lock,
  type PoolUse,
  type Reader,
  type Value,
  type Writer,
} from './database.ts'
import { postgresDialect } from './dialect.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import {
  CONNECT_TIMEOUT,
  connectionOptions,
  nameAddress,
  PostgresReader,
  PostgresWriter,
  Sockets,
} from './postgres-connection.ts'
import { explain, ServerSilent } from './postgres-errors.ts'
import { PostgresFollower } from './postgres-follower.ts'

/** How long the server may work on a read, in milliseconds; the slowest read takes a hundredth of this. */
const STATEMENT_TIMEOUT = 3_000

/** How long a read may take including the network, in milliseconds. */
const ANSWER_TIMEOUT = STATEMENT_TIMEOUT + 1_000

/** Callers that may wait, per connection: more would only wait in vain. */
const WAITING_PER_CONNECTION = 50

/** Pause between two probes of an unresponsive server, in milliseconds. */
const PROBE_PAUSE = 500

/** Begins a transaction that writes. */
const BEGIN_WRITE = `begin;
  set local statement_timeout = 0;
  set local tcp_keepalives_idle = 10; set local tcp_keepalives_interval = 10; set local tcp_keepalives_count = 6`

/**
 * Opens a pool of connections to PostgreSQL 15 or later.
 *
 * @throws {DatabaseUnusable} if the server refuses the user, the password or the database, or is too old
 * @throws {DatabaseUnavailable} if there is no server
 */
export async function openPostgres(
  url: string,
  poolSize: number,
  applicationName?: string,
): Promise<Database> {
  const database = new PostgresDatabase(url, poolSize, applicationName)
  try {
    const row = await database.get<{ server_version_num: string }>('show server_version_num')
    if (Number(row?.server_version_num) < 150_000) {
      throw new DatabaseUnusable(
        `${database.address} is older than PostgreSQL 15. Upgrade it or use another server`,
      )
    }
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

class PostgresDatabase implements Database {
  readonly dialect = postgresDialect
  readonly address: string
  readonly #options: pg.ClientConfig
  readonly #poolSize: number
  readonly #sockets = new Sockets()
  readonly #connections: Slots
  readonly #locks = new KeyedMutex()
  #pool: pg.Pool
  #reader: PostgresReader
  /** The names of prepared statements, the same for every connection. */
  readonly #names = new Map<string, string>()
  /** Whether the server is unresponsive: reads then fail at once instead of waiting. */
  #silent = false
  /** The pending probe of the server: resolves to whether it responds. */
  #probing: Promise<boolean> | undefined
  #closed = false

  constructor(url: string, poolSize: number, applicationName?: string) {
    this.#options = connectionOptions(url, this.#sockets, applicationName)
    this.address = nameAddress(url)
    this.#poolSize = poolSize
    this.#connections = new Slots({
      capacity: poolSize,
      share: Math.ceil(poolSize / 2),
      waiting: poolSize * WAITING_PER_CONNECTION,
      detail: 'too many queries wait for a connection',
      retryAfter: 1,
    })
    this.#pool = this.#openPool()
    this.#reader = this.#openReader()
  }

  get pool(): PoolUse {
    return { inUse: this.#connections.used, waiting: this.#connections.waiting }
  }

  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    return this.#read((reader) => reader.all<Row>(sql, parameters))
  }

  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return this.#read((reader) => reader.get<Row>(sql, parameters))
  }

  async write<T>(lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T> {
    let waits = false
    const wait = () => {
      if (!waits) onWait?.()
      waits = true
    }
    const change = async (writer: PostgresWriter) => {
      await writer.lock(lock, wait)
      const result = await work(writer)
      assertStillAllowed()
      return result
    }
    return await this.#locks.run(lock, () => this.#transact(BEGIN_WRITE, change), wait)
  }

  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    return this.#transact(
      'begin isolation level repeatable read read only; set local statement_timeout = 0',
      work,
    )
  }

  follow(): Follower {
    return new PostgresFollower(this.#options, this.address, {
      onSilence: () => {
        const reader = this.#reader
        void this.#isResponding().then((responding) => responding && this.#renew(reader))
      },
      onResponse: () => this.#endSilence(),
    })
  }

  /**
   * Does nothing: deleted rows stay in the files until autovacuum reuses their space, and PostgreSQL cannot overwrite
   * them.
   */
  async scrub(): Promise<boolean> {
    return true
  }

  /** The server deletes rows without room of its own: it marks them. */
  async assertRoom(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    await this.#pool.end()
    this.#sockets.release()
  }

  async #read<T>(query: (reader: PostgresReader) => Promise<T>): Promise<T> {
    if (this.#silent) throw this.#describeSilence()
    const slot = await this.#enter()
    const reader = this.#reader
    try {
      return await query(reader)
    } catch (error) {
      if (!(error instanceof ServerSilent) || !(await this.#isResponding())) throw error
      this.#renew(reader)
      return await query(this.#reader)
    } finally {
      slot.release()
    }
  }

  /** Waits for a connection, of which each caller of this process has a share. */
  async #enter(): Promise<Slot> {
    const start = performance.now()
    try {
      return await this.#connections.enter(currentCaller(), CONNECT_TIMEOUT)
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      // The connections may all be waiting for a server that is cut off.
      const hasWaited = performance.now() - start >= CONNECT_TIMEOUT / 2
      if (hasWaited && !(await this.#isResponding())) throw this.#describeSilence()
      throw new DatabaseBusy(`${this.address} is busy: ${error.message}`)
    }
  }

  #describeSilence(): DatabaseUnavailable {
    return new DatabaseUnavailable(`${this.address} has stopped responding. Is the server running?`)
  }

  async #transact<T>(begin: string, work: (writer: PostgresWriter) => Promise<T>): Promise<T> {
    const slot = await this.#enter()
    try {
      return await this.#transactOn(begin, work)
    } finally {
      slot.release()
    }
  }

  async #transactOn<T>(begin: string, work: (writer: PostgresWriter) => Promise<T>): Promise<T> {
    let connection: pg.PoolClient
    try {
      connection = await this.#pool.connect()
    } catch (error) {
      throw explain(error, this.address)
    }
    const ignore = () => undefined
    connection.on('error', ignore)
    const writer = new PostgresWriter(connection, this.address, this.#names)
    try {
      await writer.run(begin)
      const result = await work(writer)
      await this.#commit(writer)
      release(connection, ignore)
      return result
    } catch (error) {
      // If the rollback fails as well, the connection is lost, and its transaction with it.
      const broken = await writer.run('rollback').then(
        () => undefined,
        (cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))),
      )
      release(connection, ignore, broken)
      throw explain(error, this.address)
    }
  }

  async #commit(writer: PostgresWriter): Promise<void> {
    try {
      await writer.run('commit')
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      throw new DatabaseUnavailable(
        `${this.address} disconnected during the commit, so it is unknown whether the change is stored. It is safe to run the command again`,
        { cause: error },
      )
    }
  }

  #openPool(): pg.Pool {
    const pool = new pg.Pool({
      ...this.#options,
      max: this.#poolSize,
      statement_timeout: STATEMENT_TIMEOUT,
    })
    // A connection that fails while idle leaves the pool; the next caller opens another.
    pool.on('error', () => undefined)
    return pool
  }

  #openReader(): PostgresReader {
    return new PostgresReader(this.#pool, this.address, this.#names, ANSWER_TIMEOUT)
  }

  /**
   * Probes with a new connection whether a server that did not respond in time is up. If it is, that response was
   * slow, or this process stalled.
   */
  #isResponding(): Promise<boolean> {
    this.#probing ??= this.#probe().then((responding) => {
      this.#probing = undefined
      if (this.#closed) return false
      if (!responding && !this.#silent) {
        this.#silent = true
        void this.#waitForResponse()
      }
      return responding
    })
    return this.#probing
  }

  async #waitForResponse(): Promise<void> {
    do {
      await sleep(PROBE_PAUSE, undefined, { ref: false })
      if (this.#closed || !this.#silent) return
    } while (!(await this.#probe()))
    this.#endSilence()
  }

  #endSilence(): void {
    if (!this.#silent) return
    this.#renew(this.#reader)
    this.#silent = false
  }

  /** Whether the server responds at all, even if it is still starting up. */
  async #probe(): Promise<boolean> {
    const client = new pg.Client(this.#options)
    client.on('error', () => undefined)
    const reason = await client.connect().then(
      () => undefined,
      (error: unknown) => explain(error, this.address),
    )
    void client.end().catch(() => undefined)
    return !(reason instanceof ServerSilent)
  }

  /**
   * Replaces the pool of a reader, unless that has happened: old connections may be dead, and each would make one more
   * caller wait in vain.
   */
  #renew(reader: PostgresReader): void {
    if (this.#closed || reader !== this.#reader) return
    void this.#pool.end().catch(() => undefined)
    this.#pool = this.#openPool()
    this.#reader = this.#openReader()
  }
}

function release(connection: pg.PoolClient, listener: () => void, broken?: Error): void {
  connection.removeListener('error', listener)
  connection.release(broken)
}
