import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import {
  type Database,
  DatabaseBusy,
  DatabaseUnusable,
  type Follower,
  type Lock,
  type Reader,
  type Value,
  type Writer,
} from './database.ts'
import { postgresDialect } from './dialect.ts'
import { renderCopy } from './postgres-copy.ts'
import { explain } from './postgres-errors.ts'

/** How long a caller waits for a connection, in milliseconds: a database that is away is told of at once. */
const CONNECT_TIMEOUT = 2_000

/** How long a read may take, in milliseconds; the slowest one takes a hundredth of it. */
const STATEMENT_TIMEOUT = 5_000

/** How long an answer may take before the server counts as away, in milliseconds: longer than it gives a read. */
const ANSWER_TIMEOUT = STATEMENT_TIMEOUT + 1_000

/** Callers that may wait for a connection, for each connection there is: more would only wait in vain. */
const WAITING_PER_CONNECTION = 50

/** The channel on which a commit is told to every process. */
const CHANNEL = 'mahi_change'

/**
 * Opens a pool of connections to PostgreSQL 15 or later.
 *
 * @throws {DatabaseUnusable} if the server refuses the user, the password or the database, or is too old
 * @throws {DatabaseUnavailable} if there is no server
 */
export async function openPostgres(url: string, poolSize: number): Promise<Database> {
  const database = new PostgresDatabase(url, poolSize)
  try {
    const row = await database.get<{ server_version_num: string }>('show server_version_num')
    if (Number(row?.server_version_num) < 150_000) {
      throw new DatabaseUnusable(
        `${database.address} is older than PostgreSQL 15: upgrade it, or name another`,
      )
    }
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens a pool to standbys that need not be there yet: reads fail until they are. */
export function openStandby(url: string, poolSize: number): Database {
  return new PostgresDatabase(url, poolSize)
}

/** A pool, or one connection. */
interface Queryable {
  query(query: pg.QueryConfig): Promise<pg.QueryResult>
}

class PostgresReader implements Reader {
  readonly dialect = postgresDialect
  readonly #client: Queryable
  readonly #address: string
  readonly #names: Map<string, string>
  readonly #timeout: number | undefined

  /**
   * @param names the statements that are prepared by name, shared by the connections of a pool
   * @param timeout how long an answer may take, in milliseconds, before the server counts as away
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
    // Nothing is gained by preparing what runs once, and DDL can't be.
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
      // The driver's types do not know that a query may have a timeout of its own.
      return await this.#client.query({ ...query, query_timeout: this.#timeout } as pg.QueryConfig)
    } catch (error) {
      throw explain(error, this.#address)
    }
  }
}

class PostgresWriter extends PostgresReader implements Writer {
  readonly #connection: pg.PoolClient

  constructor(connection: pg.PoolClient, address: string, names: Map<string, string>) {
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
}

/** A connection of its own that listens for commits, and is opened anew by the next read when it is lost. */
class PostgresFollower implements Follower {
  readonly dialect = postgresDialect
  readonly #url: string
  readonly #address: string
  readonly #onChange: () => void
  #connection: Promise<pg.Client> | undefined

  constructor(url: string, address: string, onChange: () => void) {
    this.#url = url
    this.#address = address
    this.#onChange = onChange
  }

  async all<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    this.#connection ??= this.#connect()
    const connection = this.#connection
    try {
      const client = await connection
      const reader = new PostgresReader(client, this.#address, new Map(), ANSWER_TIMEOUT)
      return await reader.all<Row>(sql, parameters)
    } catch (error) {
      await this.#drop(connection)
      throw explain(error, this.#address)
    }
  }

  async get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, parameters))[0]
  }

  async stop(): Promise<void> {
    if (this.#connection !== undefined) await this.#drop(this.#connection)
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(connectionOptions(this.#url))
    client.on('error', () => undefined)
    client.on('notification', this.#onChange)
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  async #drop(connection: Promise<pg.Client>): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined
    const client = await connection.catch(() => undefined)
    await client?.end().catch(() => undefined)
  }
}

class PostgresDatabase implements Database {
  readonly dialect = postgresDialect
  readonly address: string
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #maxWaiting: number
  readonly #names = new Map<string, string>()
  readonly #reader: PostgresReader

  constructor(url: string, poolSize: number) {
    this.#url = url
    this.address = hidePassword(url)
    this.#maxWaiting = poolSize * WAITING_PER_CONNECTION
    this.#pool = new pg.Pool({
      ...connectionOptions(url),
      max: poolSize,
      statement_timeout: STATEMENT_TIMEOUT,
    })
    // A connection that breaks while nobody uses it leaves the pool; whoever needs one next opens another.
    this.#pool.on('error', () => undefined)
    this.#reader = new PostgresReader(this.#pool, this.address, this.#names, ANSWER_TIMEOUT)
  }

  async all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    this.#assertRoom()
    return await this.#reader.all<Row>(sql, parameters)
  }

  async get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    this.#assertRoom()
    return await this.#reader.get<Row>(sql, parameters)
  }

  async write<T>(lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T> {
    return await this.#transact('begin', async (writer) => {
      // An import or a publish takes as long as its input does.
      await writer.run('set local statement_timeout = 0')
      const key = `hashtextextended(current_schema() || '/' || $1, 0)`
      const free = await writer.get<{ locked: boolean }>(
        `select pg_try_advisory_xact_lock(${key}) as locked`,
        [lock],
      )
      if (free?.locked !== true) {
        onWait?.()
        await writer.get(`select pg_advisory_xact_lock(${key})`, [lock])
      }
      const result = await work(writer)
      await writer.get('select pg_notify($1, $2)', [CHANNEL, lock])
      return result
    })
  }

  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    return this.#transact('begin isolation level repeatable read read only', work)
  }

  follow(onChange: () => void): Follower {
    return new PostgresFollower(this.#url, this.address, onChange)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #transact<T>(begin: string, work: (writer: PostgresWriter) => Promise<T>): Promise<T> {
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
      await writer.run('commit')
      release(connection, ignore)
      return result
    } catch (error) {
      // Where even this fails the connection is gone, and its transaction with it.
      const broken = await writer.run('rollback').then(
        () => undefined,
        (cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))),
      )
      release(connection, ignore, broken)
      throw explain(error, this.address)
    }
  }

  #assertRoom(): void {
    if (this.#pool.waitingCount < this.#maxWaiting) return
    throw new DatabaseBusy(`${this.address} is busy: ${this.#maxWaiting} queries wait for it already`)
  }
}

function release(connection: pg.PoolClient, listener: () => void, broken?: Error): void {
  connection.removeListener('error', listener)
  connection.release(broken)
}

function connectionOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'mahi',
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    types: { getTypeParser: chooseParser as typeof pg.types.getTypeParser },
  }
}

const BIGINT = 20
const NUMERIC = 1700

/** Counts, times and sums fit a number: they stay below 2^53. */
function chooseParser(oid: number, format?: 'text' | 'binary') {
  return oid === BIGINT || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format)
}

/** An address without its password. */
function hidePassword(url: string): string {
  const address = new URL(url)
  if (address.password !== '') address.password = '***'
  return address.toString()
}
