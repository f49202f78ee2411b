import pg from 'pg'
import { DatabaseUnavailable, type Follower, type Value } from './database.ts'
import { postgresDialect } from './dialect.ts'
import { PostgresReader } from './postgres-connection.ts'
import { explain, ServerSilent } from './postgres-errors.ts'

/** How long a response may take, in milliseconds: a follower reads a few rows. */
const ANSWER_TIMEOUT = 2_000

interface FollowerEvents {
  /** The server has failed twice to respond in time. */
  onSilence(): void
  /** The server has responded, so it is there for other connections, too. */
  onResponse(): void
}

/** A separate connection. When it is lost, the next read opens another. */
export class PostgresFollower implements Follower {
  readonly dialect = postgresDialect
  readonly #options: pg.ClientConfig
  readonly #address: string
  readonly #on: FollowerEvents
  #connection: Promise<pg.Client> | undefined
  #stopped = false

  constructor(options: pg.ClientConfig, address: string, on: FollowerEvents) {
    this.#options = options
    this.#address = address
    this.#on = on
  }

  async all<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    try {
      return await this.#read<Row>(sql, parameters)
    } catch (error) {
      if (!(error instanceof ServerSilent)) throw error
    }
    // Try again: this process itself may have stalled.
    try {
      return await this.#read<Row>(sql, parameters)
    } catch (error) {
      if (error instanceof ServerSilent) this.#on.onSilence()
      throw error
    }
  }

  async get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, parameters))[0]
  }

  async #read<Row>(sql: string, parameters: readonly Value[]): Promise<Row[]> {
    // A read that began just before the stop would open a connection that nobody closes.
    if (this.#stopped) throw new DatabaseUnavailable(`${this.#address} is no longer followed`)
    this.#connection ??= this.#connect()
    const connection = this.#connection
    try {
      const reader = new PostgresReader(await connection, this.#address, new Map(), ANSWER_TIMEOUT)
      const rows = await reader.all<Row>(sql, parameters)
      this.#on.onResponse()
      return rows
    } catch (error) {
      this.#drop(connection)
      throw explain(error, this.#address)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#connection !== undefined) this.#drop(this.#connection)
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#options, application_name: 'mahi-follower' })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return client
    } catch (error) {
      void client.end().catch(() => undefined)
      throw error
    }
  }

  /** Does not wait, because an unavailable server does not acknowledge the disconnection. */
  #drop(connection: Promise<pg.Client>): void {
    if (this.#connection === connection) this.#connection = undefined
    connection.then((client) => client.end()).catch(() => undefined)
  }
}
