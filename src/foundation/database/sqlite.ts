import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { lookUp } from '../look-up.ts'
import { makeFolder } from '../make-folder.ts'
import { Slots } from '../slots.ts'
import { assertStillAllowed, currentCaller } from './caller.ts'
import {
  type Database,
  DatabaseFull,
  DatabaseUnusable,
  type Follower,
  type Lock,
  type Reader,
  type Value,
  type Writer,
} from './database.ts'
import { sqliteDialect } from './dialect.ts'

/** Marks a file as Mahi's in its header ("MAHI"), so that Mahi never writes to another program's database. */
const APPLICATION_ID = 0x4d414849

/** How long a statement waits for a lock that is held only briefly, in milliseconds. */
const BUSY_TIMEOUT = 10_000

/** Pause between two attempts to begin a transaction while another process writes, in milliseconds. */
const RETRY_PAUSE = 25

/** Bytes of a large disk that uploads leave free, so that there is room to delete. */
const RESERVE = 64 * 2 ** 20

/** Attempts to empty the write-ahead log before giving up for now. */
const TRIES_TO_SCRUB = 100

/** Attempts before a wait is reported: most waits are very short. */
const TRIES_IN_SILENCE = 10

/**
 * Opens a SQLite file, and creates it if it does not exist. Reads and writes use separate connections, so that a read
 * never sees uncommitted changes of the same process.
 *
 * @param existing whether to fail if the file does not exist
 * @param setting what names the file; by default `DATABASE_URL`
 * @throws {DatabaseUnusable} if the file is not a database, belongs to another program, or cannot be read or written
 */
export async function openSqlite(path: string, existing = false, setting?: string): Promise<Database> {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) {
      throw new DatabaseUnusable(`${path} is a folder. Name a file in ${setting ?? 'DATABASE_URL'}`)
    }
    if (found === undefined && existing) {
      const advice =
        setting === undefined ? 'Check DATABASE_URL, or create it with "mahi migrate"' : `Check ${setting}`
      throw new DatabaseUnusable(`${resolve(path)} does not exist. ${advice}`)
    }
    makeFolder(dirname(path))
    createPrivately(path)
    const writing = new Sqlite(path, { timeout: BUSY_TIMEOUT })
    try {
      await prepareFile(writing, path)
    } catch (error) {
      writing.close()
      throw error
    }
    const reading = connect(path)
    return new SqliteDatabase(path, reading, writing)
  } catch (error) {
    throw explain(error, path)
  }
}

/** Creates a file that only its owner can read; SQLite gives its other files the same mode. */
function createPrivately(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) closeSync(openSync(path, 'a', 0o600))
}

async function prepareFile(connection: Sqlite.Database, path: string): Promise<void> {
  // In this order: a process that is creating the file marks it before it creates a table.
  const tables = connection.prepare(sqliteDialect.tables).all()
  const owner = connection.pragma('application_id', { simple: true })
  if (owner !== APPLICATION_ID) {
    if (owner !== 0 || tables.length > 0) {
      throw new DatabaseUnusable(
        `${path} is the SQLite database of another program. Name another file in DATABASE_URL`,
      )
    }
  }
  // Only affects a new file. Measured: a record of 4 KB overflows the default page of 4 KB, which makes reading it a
  // tenth slower.
  connection.pragma('page_size = 16384')
  // SQLite ignores the timeout when two connections switch a new file to WAL at once.
  await untilFree(() => connection.pragma('journal_mode = wal'))
  if (owner !== APPLICATION_ID) await untilFree(() => connection.pragma(`application_id = ${APPLICATION_ID}`))
  // A completed import or publish survives a power failure, not only the end of a process.
  connection.pragma('synchronous = full')
  // Measured: 64 MB save no time, and publishing a million entries takes 297 MB of memory instead of 220.
  connection.pragma('cache_size = -16384')
  connection.pragma('temp.cache_size = -32768')
  connection.pragma('journal_size_limit = 67108864')
  // Deleted rows are overwritten: submissions hold personal data.
  connection.pragma('secure_delete = on')
  // From here on `untilFree` waits: it can report the wait and does not block the event loop.
  connection.pragma('busy_timeout = 0')
}

function connect(path: string): Sqlite.Database {
  const connection = new Sqlite(path, { timeout: BUSY_TIMEOUT })
  connection.pragma('query_only = on')
  // Measured: without the map, a page costs a copy of every database page that it reads.
  connection.pragma('mmap_size = 268435456')
  return connection
}

async function untilFree<T>(action: () => T, onWait?: () => void): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return action()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (tries === TRIES_IN_SILENCE) onWait?.()
      await sleep(RETRY_PAUSE)
    }
  }
}

class SqliteConnection implements Reader {
  readonly dialect = sqliteDialect
  readonly #connection: Sqlite.Database
  readonly #statements = new Map<string, Prepared>()

  constructor(connection: Sqlite.Database) {
    this.#connection = connection
  }

  async all<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    const { statement, order } = this.#prepare(sql)
    return statement.all(...order.map((index) => parameters[index])) as Row[]
  }

  async get<Row>(sql: string, parameters: readonly Value[] = []): Promise<Row | undefined> {
    const { statement, order } = this.#prepare(sql)
    return statement.get(...order.map((index) => parameters[index])) as Row | undefined
  }

  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    const { statement, order } = this.#prepare(sql)
    return statement.run(...order.map((index) => parameters[index])).changes
  }

  async load(
    table: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
  ): Promise<number> {
    const insert = this.#connection.prepare(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    )
    let count = 0
    for await (const row of rows) {
      insert.run(row)
      count++
    }
    return count
  }

  async analyze(): Promise<void> {}

  /** The transaction already excludes all others. */
  async lock(): Promise<void> {}

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** SQLite has already rolled back after some errors, such as a full disk. */
  rollback(): void {
    if (this.#connection.inTransaction) this.#connection.exec('rollback')
  }

  /** Moves the write-ahead log into the file and empties it; returns `false` while another connection needs it. */
  truncateLog(): boolean {
    try {
      const [result] = this.#connection.pragma('wal_checkpoint(truncate)') as { busy: number }[]
      return result?.busy === 0
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  /** Bytes of the file that hold nothing. */
  countUnused(): number {
    const read = (name: string) => Number(this.#connection.pragma(name, { simple: true }))
    return read('freelist_count') * read('page_size')
  }

  close(): void {
    this.#connection.close()
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (prepared === undefined) {
      prepared = prepare(this.#connection, sql)
      this.#statements.set(sql, prepared)
    }
    return prepared
  }
}

interface Prepared {
  readonly statement: Sqlite.Statement<unknown[]>
  /** The index of the parameter for each `?` of the statement. */
  readonly order: readonly number[]
}

/** The driver binds `?` by position only: turns `$2 ... $1 ... $2` into three of them and their order. */
function prepare(connection: Sqlite.Database, sql: string): Prepared {
  const order: number[] = []
  const positional = sql.replace(/\$(\d+)/g, (_, number: string) => {
    order.push(Number(number) - 1)
    // The unary plus hides the parameter from the planner, which would otherwise prepare the statement again for
    // every bound value. Measured: a page would take 1.2 to 2 times as long.
    return '+?'
  })
  return { statement: connection.prepare(positional), order }
}

class SqliteDatabase implements Database {
  readonly dialect = sqliteDialect
  readonly address: string
  readonly #path: string
  readonly #reading: SqliteConnection
  readonly #writing: SqliteConnection
  /** One connection runs one transaction at a time. */
  readonly #transactions = new Slots({
    capacity: 1,
    waiting: Number.POSITIVE_INFINITY,
    detail: 'The database is busy.',
    retryAfter: 1,
  })

  constructor(path: string, reading: Sqlite.Database, writing: Sqlite.Database) {
    this.address = `sqlite:${path}`
    this.#path = path
    this.#reading = new SqliteConnection(reading)
    this.#writing = new SqliteConnection(writing)
  }

  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    return this.#reading.all<Row>(sql, parameters)
  }

  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return this.#reading.get<Row>(sql, parameters)
  }

  write<T>(_lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T> {
    return this.#whenFree(() => this.#transact(work, onWait))
  }

  async #whenFree<T>(work: () => Promise<T>): Promise<T> {
    const slot = await this.#transactions.enter(currentCaller())
    try {
      return await work()
    } finally {
      slot.release()
    }
  }

  async #transact<T>(work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T> {
    try {
      // Takes the write lock at once: SQLite cannot wait for another writer once a transaction has read.
      await untilFree(() => this.#writing.exec('begin immediate'), onWait)
      try {
        const result = await work(this.#writing)
        assertStillAllowed()
        this.#writing.exec('commit')
        return result
      } catch (error) {
        this.#writing.rollback()
        throw error
      }
    } catch (error) {
      throw explain(error, this.#path)
    }
  }

  async snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    const connection = new SqliteConnection(connect(this.#path))
    try {
      connection.exec('begin')
      return await work(connection)
    } finally {
      connection.close()
    }
  }

  /** Its reads wait for nobody. */
  follow(): Follower {
    return {
      dialect: this.dialect,
      all: (sql, parameters) => this.all(sql, parameters),
      get: (sql, parameters) => this.get(sql, parameters),
      stop: async () => undefined,
    }
  }

  /** Deleted data also remains in the write-ahead log until its pages have moved to the database file. */
  async scrub(): Promise<boolean> {
    return await this.#whenFree(async () => {
      for (let tries = 0; tries < TRIES_TO_SCRUB; tries++) {
        if (this.#writing.truncateLog()) return true
        await sleep(RETRY_PAUSE)
      }
      return false
    })
  }

  /**
   * Deleting overwrites pages, through the write-ahead log. What is in the log must also still find room in the file.
   */
  async assertRoom(bytes: number): Promise<void> {
    const { blocks, bsize } = await statfs(dirname(this.#path))
    const least = 2 * bytes + Math.min(RESERVE, (blocks * bsize) / 10)
    const log = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if ((await this.#countFree()) >= least + log) return
    // Deleted data leaves room in the file, which then does not grow when the log is moved there.
    await this.scrub()
    if ((await this.#countFree()) >= least && this.#reading.countUnused() >= 2 * bytes) return
    throw new DatabaseFull(`${this.#path} ${ADVICE.SQLITE_FULL}`)
  }

  /** Free bytes of the disk. */
  async #countFree(): Promise<number> {
    const { bavail, bsize } = await statfs(dirname(this.#path))
    return bavail * bsize
  }

  async close(): Promise<void> {
    await this.#whenFree(async () => {
      this.#reading.close()
      this.#writing.close()
    })
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Turns SQLite's error about a file into a message that says what to do; other errors are returned unchanged. */
function explain(error: unknown, path: string): unknown {
  const given = error instanceof Error && 'code' in error ? String(error.code) : ''
  const code = /^SQLITE_(?:CANTOPEN|READONLY)/.test(given) && isOnReadOnlyDisk(path) ? 'EROFS' : given
  const advice = Object.entries(ADVICE).find(([prefix]) => code.startsWith(prefix))?.[1]
  if (advice === undefined) return error
  const Kind = code.startsWith('SQLITE_FULL') ? DatabaseFull : DatabaseUnusable
  return new Kind(`${path} ${advice}`, { cause: error })
}

function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

const ADVICE = lookUp<string>({
  SQLITE_NOTADB: 'is not a SQLite database. Name another file in DATABASE_URL, or move this one away',
  SQLITE_CORRUPT: 'is damaged. Restore it from a backup, or move it away and import again',
  SQLITE_READONLY: 'cannot be written. Give this user write permission for the file and its folder',
  SQLITE_CANTOPEN: 'cannot be opened. Give this user read and write permission for the file and its folder',
  SQLITE_FULL:
    'has no space left on its disk, or on that of temporary files (SQLITE_TMPDIR). Nothing was changed. Free some space and run the command again',
  // Readers share an index in a file beside the database, which needs disk space.
  SQLITE_IOERR_SHM: 'cannot be opened: its disk is full. Free some space and start again',
  SQLITE_IOERR: 'cannot be read or written: the disk reports an error',
  EACCES: 'cannot be opened. Give this user permission to create the file and its folder',
  EEXIST: 'cannot be opened: part of its path is a file, not a folder',
  ENOTDIR: 'cannot be opened: part of its path is a file, not a folder',
  ENOENT: 'cannot be opened: its folder cannot be created',
  EROFS: 'cannot be written: its file system is read-only',
})
