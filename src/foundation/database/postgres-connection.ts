import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Lock, Reader, Value, Writer } from './database.ts'
import { postgresDialect } from './dialect.ts'
import { renderCopy } from './postgres-copy.ts'
import { explain } from './postgres-errors.ts'

/** Time limit for connecting, or for getting a connection from a pool, in milliseconds. */
export const CONNECT_TIMEOUT = 2_000

/** Idle time after which the operating system probes the connection, in milliseconds. */
const KEEP_ALIVE_DELAY = 10_000

/** The sockets of all connections, including those that failed to connect, which the driver forgets. */
export class Sockets {
  readonly #open = new Set<Socket>()

  readonly create = (): Socket => {
    const socket = new Socket()
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    return socket
  }

  /** Lets the process exit without waiting for a server that may never acknowledge the disconnection. */
  release(): void {
    for (const socket of this.#open) socket.unref()
  }
}

/** The options for connecting to the server at a `postgres://` URL. */
export function connectionOptions(url: string, sockets: Sockets, name = 'mahi'): pg.ClientConfig {
  return {
    stream: sockets.create,
    // The driver checks certificates in each of these modes, and warns that libpq does so only in verify-full.
    connectionString: url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full'),
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    types: { getTypeParser: chooseParser as typeof pg.types.getTypeParser },
  }
}

const BIGINT = 20
const NUMERIC = 1700

/** Counts, times and sums fit into a number: they stay below 2^53. */
function chooseParser(oid: number, format?: 'text' | 'binary') {
  return oid === BIGINT || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format)
}

/** Returns a URL for messages: without its password, and without options, which may contain one as well. */
export function nameAddress(url: string): string {
  const address = new URL(url)
  if (address.password !== '') address.password = '***'
  address.search = ''
  return address.toString()
}

/** The key of an advisory lock: schemas of one database do not wait for each other. */
const LOCK_KEY = `hashtextextended(current_schema() || '/' || $1, 0)`

/** A pool, or one connection. */
interface Queryable {
  query(query: pg.QueryConfig): Promise<pg.QueryResult>
}

/** Reads on one connection, or on any connection of a pool. */
export class PostgresReader implements Reader {
  readonly dialect = postgresDialect
  readonly #client: Queryable
  readonly #address: string
  readonly #names: Map<string, string>
  readonly #timeout: number | undefined

  /**
   * @param names the names of prepared statements, shared by the connections of a pool
   * @param timeout how long the server may take to respond, in milliseconds, before it counts as unavailable
   */
  constructor(client: Queryable, address: string, names: Map<string, string>, timeout?: number) {
    this.#client = client
    this.#address = address
    this.#names = names
    this.#timeout = timeout
  }

  async all<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return (await this.query(sql, parameters)).rows as Row[]
  }

  async get<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.query(sql, parameters)).rows[0] as Row | undefined
  }

  async query(sql: string, parameters: readonly Value[]): Promise<pg.QueryResult> {
    // Preparing a statement that runs once gains nothing, and DDL cannot be prepared.
    if (parameters.length === 0) return await this.#run({ text: sql })
    let name = this.#names.get(sql)
    if (name === undefined) {
      name = `mahi_${this.#names.size}`
      this.#names.set(sql, name)
    }
    return await this.#run({ name, text: sql, values: [...parameters] })
  }

  async #run(query: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      // The driver's types lack the timeout of a single query.
      return await this.#client.query({ ...query, query_timeout: this.#timeout } as pg.QueryConfig)
    } catch (error) {
      throw explain(error, this.#address)
    }
  }
}

/** Reads and writes on one connection, without timeouts: an import takes as long as its input does. */
export class PostgresWriter extends PostgresReader implements Writer {
  readonly #connection: pg.ClientBase

  constructor(connection: pg.ClientBase, address: string, names: Map<string, string>) {
    super(connection, address, names)
    this.#connection = connection
  }

  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return (await this.query(sql, parameters)).rowCount ?? 0
  }

  async load(
    table: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
  ): Promise<number> {
    const stream = this.#connection.query(copyFrom(`copy ${table} (${columns.join(', ')}) from stdin`))
    await pipeline(Readable.from(renderCopy(rows), { objectMode: true, highWaterMark: 2 }), stream)
    return stream.rowCount
  }

  async analyze(table: string): Promise<void> {
    await this.run(`analyze ${table}`)
  }

  async lock(lock: Lock, onWait?: () => void): Promise<void> {
    const free = await this.get<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${LOCK_KEY}) as locked`,
      [lock],
    )
    if (free?.locked === true) return
    onWait?.()
    await this.get(`select pg_advisory_xact_lock(${LOCK_KEY})`, [lock])
  }
}
