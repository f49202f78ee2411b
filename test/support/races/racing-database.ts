import type { Database, Lock, Reader, Writer } from '../../../src/foundation/database/database.ts'
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
 * statements of another.
 */
export interface RacingDatabase extends Database {
  /** The statements that changed a submission without its lock. */
  readonly unlocked: ReadonlySet<string>
  /** Gives others a random number of turns. */
  pause(most?: number): Promise<void>
}

export function race(database: Database, random: Random): RacingDatabase {
  const unlocked = new Set<string>()
  const pause = async (most = MOST_TURNS) => {
    for (let turns = random.below(most + 1); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve))
  }
  const watch = (writer: Writer, lock: Lock): Writer => {
    const held = new Set<Lock>([lock])
    const assertLocked = (table: string | undefined, statement: string) => {
      if (table === undefined || !GUARDED.has(table)) return
      if ([...held].some((each) => each.startsWith('submission:'))) return
      // Nobody can see what belongs to a deleted owner.
      if (held.has('job:deletion')) return
      unlocked.add(`${statement} (with ${[...held].map((each) => each.split(/[:/]/)[0])})`)
    }
    const before = async (sql: string) => {
      assertLocked(/^\s*(?:insert into|update|delete from)\s+(\w+)/.exec(sql)?.[1], sql)
      await pause()
    }
    return {
      dialect: writer.dialect,
      all: async (sql, parameters) => before(sql).then(() => writer.all(sql, parameters)),
      get: async (sql, parameters) => before(sql).then(() => writer.get(sql, parameters)),
      run: async (sql, parameters) => before(sql).then(() => writer.run(sql, parameters)),
      load: async (table, columns, rows) => {
        if (!FINDINGS.has(table)) assertLocked(table, `load ${table}`)
        await pause()
        return await writer.load(table, columns, rows)
      },
      analyze: (table) => writer.analyze(table),
      lock: async (more, onWait) => {
        await pause()
        await writer.lock(more, onWait)
        held.add(more)
      },
    }
  }
  const all: Reader['all'] = async (sql, parameters) => pause().then(() => database.all(sql, parameters))
  const get: Reader['get'] = async (sql, parameters) => pause().then(() => database.get(sql, parameters))
  const write: Database['write'] = async (lock, work, onWait) =>
    pause().then(() => database.write(lock, (writer) => work(watch(writer, lock)), onWait))
  const own: object = { unlocked, pause, all, get, write }
  return new Proxy(database, {
    get(target, name) {
      if (name in own) return Reflect.get(own, name)
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as RacingDatabase
}
