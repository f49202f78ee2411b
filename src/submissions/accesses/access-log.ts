import { createHash, randomBytes } from 'node:crypto'
import { actFor, ITSELF } from '../../foundation/database/caller.ts'
import type { Database, Reader, Value, Writer } from '../../foundation/database/database.ts'
import { APPEND_ONLY } from '../../foundation/database/migrations/0013-access-log.ts'

/** A request of a credential for the data of an organisation. */
export interface Access {
  /** The id of the request, as in its log line. */
  readonly request: string
  /** The public id of the credential. */
  readonly credential: string
  readonly eid: string
  readonly operation: string
  /** Whether the operation changes anything. */
  readonly change: boolean
  /** The token of the submission, of which only the digest is stored. */
  readonly token: string | undefined
}

/** How often reads are stored, in milliseconds, in one write for all of them. */
const INTERVAL = 1_000
/** How long similar reads are counted before they are stored again, in milliseconds. */
const WINDOW = 60_000
/** The most kinds of reads, and of rows that wait for the database. */
const MOST = 10_000

const COLUMNS = [
  'time',
  'until',
  'times',
  'request',
  'credential',
  'eid',
  'operation',
  'change',
  'submission',
] as const

interface Count {
  readonly access: Access
  readonly since: number
  until: number
  times: number
  /** Whether the first read is still to be stored. */
  isNew: boolean
}

/**
 * Records who reads and changes which submission. A change is stored before it is made. Reads are stored within a
 * second; of similar ones, the first is stored at once, and the others are counted and stored as one row a minute
 * later, so that pages cost no writes and the log grows by callers and not by pages.
 */
export class AccessLog {
  readonly #database: Database
  readonly #reads = new Map<string, Count>()
  readonly #timer: NodeJS.Timeout
  /** Of this process: others need not wait. */
  readonly #lock = `job:access-log/${randomBytes(6).toString('hex')}` as const
  /** Reads that could not be stored yet. */
  #waiting: (readonly Value[])[] = []
  #batch: { readonly rows: (readonly Value[])[]; readonly done: Promise<void> } | undefined
  #last: Promise<void> = Promise.resolve()
  /** Reads that were not recorded, because the database was away for too long or there were too many kinds. */
  dropped = 0

  constructor(database: Database) {
    this.#database = database
    this.#timer = setInterval(() => void this.store().catch(() => undefined), INTERVAL).unref()
  }

  /** Records an access; a change must wait for the promise, which fails if the database does. */
  record(access: Access): Promise<void> | undefined {
    const now = Date.now()
    if (access.change) return this.#write([toRow(access, now, now, 1)])
    const { credential, eid, operation, token = '' } = access
    const name = `${credential} ${eid} ${operation} ${token}`
    const known = this.#reads.get(name)
    if (known !== undefined) {
      known.times++
      known.until = now
    } else if (this.#reads.size < MOST) {
      this.#reads.set(name, { access, since: now, until: now, times: 1, isNew: true })
    } else {
      this.dropped++
    }
    return undefined
  }

  /**
   * Stores the reads since the last call; if that fails, they are kept for the next call.
   *
   * @param all also those that are still being counted
   */
  async store(all = false): Promise<void> {
    const now = Date.now()
    const rows: (readonly Value[])[] = []
    for (const [name, count] of this.#reads) {
      const isOver = all || now - count.since >= WINDOW
      if (!count.isNew && !isOver) continue
      if (count.times > 0) {
        const { access, since, until, times, isNew } = count
        rows.push(toRow(access, isNew ? since : Math.min(since + 1, until), until, times))
      }
      count.isNew = false
      count.times = 0
      if (isOver) this.#reads.delete(name)
    }
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length + rows.length > 0) await this.#write([...waiting, ...rows])
  }

  /** Stores what is left. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.store(true).catch(() => undefined)
  }

  /** Stores rows with those of others that came meanwhile, in one transaction after the other. */
  #write(rows: readonly (readonly Value[])[]): Promise<void> {
    if (this.#batch === undefined) {
      const batch: (readonly Value[])[] = []
      const done = this.#last
        .catch(() => undefined)
        .then(() => {
          this.#batch = undefined
          return this.#insert(batch)
        })
      this.#last = done
      this.#batch = { rows: batch, done }
    }
    this.#batch.rows.push(...rows)
    return this.#batch.done
  }

  async #insert(rows: readonly (readonly Value[])[]): Promise<void> {
    try {
      await actFor(ITSELF, () => this.#database.write(this.#lock, (writer) => insert(writer, rows)))
    } catch (error) {
      // A change that could not be recorded is not made; reads have been.
      const reads = rows.filter((row) => row[COLUMNS.indexOf('change')] === 0)
      const room = Math.max(0, MOST - this.#waiting.length)
      this.dropped += Math.max(0, reads.length - room)
      this.#waiting.push(...reads.slice(0, room))
      throw error
    }
  }
}

async function insert(writer: Writer, rows: readonly (readonly Value[])[]): Promise<void> {
  for (const row of rows)
    await writer.run(
      `insert into access_log (${COLUMNS.join(', ')}) values (${COLUMNS.map((_, at) => `$${at + 1}`).join(', ')})`,
      row,
    )
}

function toRow(access: Access, time: number, until: number, times: number): Value[] {
  const { request, credential, eid, operation, change, token } = access
  const submission = token === undefined ? null : nameSubmission(token)
  return [time, until, times, request, credential, eid, operation, change ? 1 : 0, submission]
}

/** Tokens grant access, so the log has only their digests. */
export function nameSubmission(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** A row of the log. */
export interface AccessRow {
  readonly id: number
  readonly time: number
  /** When the last of the counted requests was made. */
  readonly until: number
  readonly times: number
  readonly request: string
  readonly credential: string
  readonly eid: string
  readonly operation: string
  readonly change: number
  readonly submission: string | null
}

/** Rows that are read at once. */
const BATCH = 1_000

/** Reads the rows from a time on, in the order in which they were stored. */
export async function* readAccesses(
  reader: Reader,
  { since, until, eid, token }: { since: number; until?: number; eid?: string; token?: string },
): AsyncGenerator<AccessRow> {
  for (let last = 0; ; ) {
    const rows: AccessRow[] = await reader.all<AccessRow>(
      `select id, ${COLUMNS.join(', ')} from access_log
       where id > $1 and time >= $2 and time < $3 and eid = coalesce($4, eid)
         and ($5 = '' or submission = $5) order by id limit ${BATCH}`,
      [
        last,
        since,
        until ?? Number.MAX_SAFE_INTEGER,
        eid ?? null,
        token === undefined ? '' : nameSubmission(token),
      ],
    )
    yield* rows
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.id
  }
}

/** Counts the requests since a time for each organisation, or for one. */
export async function countAccesses(
  reader: Reader,
  since: number,
  eid?: string,
): Promise<{ eid: string; reads: number; changes: number }[]> {
  return await reader.all(
    `select eid, cast(sum(case when change = 0 then times else 0 end) as bigint) as reads,
       cast(sum(case when change = 0 then 0 else times end) as bigint) as changes
     from access_log where time >= $1 and eid = coalesce($2, eid) group by eid order by eid`,
    [since, eid ?? null],
  )
}

/**
 * Deletes the rows from before a time. Only the owner of the table may.
 *
 * @returns their number
 */
export async function pruneAccesses(database: Database, before: number): Promise<number> {
  return await database.write('job:access-log', async (writer) => {
    const isSqlite = writer.dialect.name === 'sqlite'
    if (isSqlite) for (const name of TRIGGERS) await writer.run(`drop trigger ${name}`)
    const deleted = await writer.run('delete from access_log where time < $1', [before])
    if (isSqlite) for (const statement of APPEND_ONLY) await writer.run(statement)
    return deleted
  })
}

const TRIGGERS = ['access_log_update', 'access_log_delete']

/**
 * Adds the rows that a restored database lacks, because they were stored after its backup. They are compared one by
 * one: counted reads have the time of the first, and may be stored after rows of a later time.
 */
export async function keepAccesses(restored: Database, replaced: Reader): Promise<void> {
  const rows: AccessRow[] = []
  const store = async () => {
    const times = rows.map(({ time }) => time)
    const similar = await restored.all<AccessRow>(
      `select ${COLUMNS.join(', ')} from access_log where time between $1 and $2`,
      [Math.min(...times), Math.max(...times)],
    )
    const known = new Set(similar.map((row) => JSON.stringify(valuesOf(row))))
    const missing = rows
      .splice(0)
      .map(valuesOf)
      .filter((values) => !known.has(JSON.stringify(values)))
    await restored.write('job:access-log', (writer) => insert(writer, missing))
  }
  for await (const row of readAccesses(replaced, { since: 0 })) if (rows.push(row) === BATCH) await store()
  if (rows.length > 0) await store()
}

function valuesOf(row: AccessRow): Value[] {
  return COLUMNS.map((column) => row[column])
}
