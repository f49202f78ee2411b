import type {
  Database,
  Follower,
  Lock,
  PoolUse,
  Reader,
  Value,
  Writer,
} from '../../../src/foundation/database/database.ts'
import type { Dialect } from '../../../src/foundation/database/dialect.ts'
import type { Random } from '../random.ts'

/** The tables of submissions: they change only under the lock of the submission. */
const GUARDED = new Set([
  'submission',
  'submission_file',
  'submission_run',
  'file_version',
  'file_chunk',
  'file_record',
  'result_block',
  'result_posting',
])

/** Findings are stored before the lock is taken: nobody sees those of a run that is not published. */
const FINDINGS = new Set(['result_block', 'result_posting'])

/** The most turns of the event loop before a statement. */
const MOST_TURNS = 3

/**
 * A database whose statements start a little later, at random: what one process does at once then happens between the
 * statements of another. It lists the statements that change a submission without its lock.
 */
export class RacingDatabase implements Database {
  readonly dialect: Dialect
  readonly address: string
  readonly unlocked = new Set<string>()
  readonly #database: Database
  readonly #random: Random

  constructor(database: Database, random: Random) {
    this.#database = database
    this.#random = random
    this.dialect = database.dialect
    this.address = database.address
  }

  get pool(): PoolUse {
    return this.#database.pool ?? { inUse: 0, waiting: 0 }
  }

  async all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    await this.pause()
    return await this.#database.all<Row>(sql, parameters)
  }

  async get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    await this.pause()
    return await this.#database.get<Row>(sql, parameters)
  }

  async write<T>(lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T> {
    await this.pause()
    return await this.#database.write(lock, (writer) => work(this.#watch(writer, lock)), onWait)
  }

  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    return this.#database.snapshot(work)
  }

  follow(onChange: () => void): Follower {
    return this.#database.follow(onChange)
  }

  assertRoom(bytes: number): Promise<void> {
    return this.#database.assertRoom(bytes)
  }

  scrub(): Promise<boolean> {
    return this.#database.scrub()
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  /** Gives others a random number of turns. */
  async pause(most = MOST_TURNS): Promise<void> {
    for (let turns = this.#random.below(most + 1); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve))
  }

  #watch(writer: Writer, lock: Lock): Writer {
    const held = new Set<Lock>([lock])
    const assertLocked = (table: string | undefined, statement: string) => {
      if (table === undefined || !GUARDED.has(table)) return
      if ([...held].some((each) => each.startsWith('submission:'))) return
      this.unlocked.add(`${statement} (with ${[...held].map((each) => each.split(/[:/]/)[0])})`)
    }
    const before = async (sql: string) => {
      assertLocked(/^\s*(?:insert into|update|delete from)\s+(\w+)/.exec(sql)?.[1], sql)
      await this.pause()
    }
    return {
      dialect: writer.dialect,
      all: async (sql, parameters) => before(sql).then(() => writer.all(sql, parameters)),
      get: async (sql, parameters) => before(sql).then(() => writer.get(sql, parameters)),
      run: async (sql, parameters) => before(sql).then(() => writer.run(sql, parameters)),
      load: async (table, columns, rows) => {
        if (!FINDINGS.has(table)) assertLocked(table, `load ${table}`)
        await this.pause()
        return await writer.load(table, columns, rows)
      },
      analyze: (table) => writer.analyze(table),
      lock: async (more, onWait) => {
        await this.pause()
        await writer.lock(more, onWait)
        held.add(more)
      },
    }
  }
}
