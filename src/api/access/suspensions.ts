import type { Database, Reader } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import type { Audit } from './audit.ts'

/** An organisation whose requests are refused. */
export interface Suspension {
  readonly eid: string
  /** Milliseconds since 1970. */
  readonly suspended: number
  /** The operator's note; callers do not see it. */
  readonly reason: string
}

export async function listSuspensions(reader: Reader): Promise<Suspension[]> {
  return await reader.all<Suspension>(
    'select eid, suspended, reason from organisation_suspension order by eid',
  )
}

export async function isSuspended(reader: Reader, eid: string): Promise<boolean> {
  return (await reader.get('select eid from organisation_suspension where eid = $1', [eid])) !== undefined
}

/** Suspends an organisation, or replaces the note of one that is suspended already and keeps its date. */
export async function storeSuspension(
  database: Database,
  { eid, reason }: Pick<Suspension, 'eid' | 'reason'>,
): Promise<void> {
  await database.write('keys', async (writer) => {
    await writer.run(
      `insert into organisation_suspension (eid, suspended, reason) values ($1, $2, $3)
       on conflict (eid) do update set reason = excluded.reason`,
      [eid, Date.now(), reason],
    )
    // Every process reads the suspensions again.
    await bumpRevision(writer, 'keys')
  })
}

/** Returns whether it was suspended. */
export async function removeSuspension(database: Database, eid: string): Promise<boolean> {
  return await database.write('keys', async (writer) => {
    const removed = await writer.run('delete from organisation_suspension where eid = $1', [eid])
    if (removed > 0) await bumpRevision(writer, 'keys')
    return removed > 0
  })
}

/** Interval between attempts to read the suspensions, in milliseconds. */
const RETRY = 1_000

/**
 * Keeps the suspended organisations in memory, so that no request waits for the database to know them, and audits
 * those that any process suspends or resumes while this one runs.
 */
export class SuspensionWatch {
  readonly #reader: Reader
  readonly #audit: Audit
  /** `undefined` until they have been read. */
  #suspended: ReadonlySet<string> | undefined
  #reading: Promise<void> | undefined
  #again = false
  #stopped = false

  private constructor(reader: Reader, audit: Audit) {
    this.#reader = reader
    this.#audit = audit
  }

  /** Reads the suspensions, and keeps trying if that fails. */
  static async start(reader: Reader, audit: Audit): Promise<SuspensionWatch> {
    const watch = new SuspensionWatch(reader, audit)
    await watch.refresh()
    return watch
  }

  readonly has = (eid: string): boolean => this.#suspended?.has(eid) === true

  /** Reads the suspensions again after a change. */
  refresh(): Promise<void> {
    this.#again = true
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  stop(): void {
    this.#stopped = true
  }

  async #read(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        this.#replace(new Set((await listSuspensions(this.#reader)).map(({ eid }) => eid)))
      } catch {
        // The database is unavailable, which its readers report.
        setTimeout(() => void this.refresh(), RETRY).unref()
      }
    }
  }

  #replace(now: ReadonlySet<string>): void {
    const before = this.#suspended
    this.#suspended = now
    if (before === undefined) return
    for (const eid of now) if (!before.has(eid)) this.#audit.changed({ audit: 'suspended', eid })
    for (const eid of before) if (!now.has(eid)) this.#audit.changed({ audit: 'resumed', eid })
  }
}
