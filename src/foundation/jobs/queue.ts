import { currentRequest } from '../database/caller.ts'
import type { Database, Reader, Writer } from '../database/database.ts'

/** Each has one handler. */
export const JOB_KINDS = ['run', 'copies', 'upload', 'purge', 'retention', 'index'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** Kinds whose jobs wait for each other: a check and a copy of files take as long, and reading an upload does not. */
const TOGETHER: readonly JobKind[] = ['run', 'copies']

/** A job that a worker has claimed. */
export interface Job {
  readonly id: number
  readonly kind: JobKind
  /** The subject of the job, such as the number of a run. */
  readonly subject: string
  readonly eid: string
  /** When it was queued, in milliseconds since 1970. */
  readonly queued: number
  /** The id of the request that it was queued by, if there was one. */
  readonly request: string | null
  /** The number of claims so far, including this one. */
  readonly attempts: number
  /** The holder's name, which is unique for each claim. */
  readonly worker: string
}

/** Attempts before a job counts as failed. */
export const MOST_ATTEMPTS = 3

/** How long a claim lasts without a heartbeat, in milliseconds. */
const LEASE = 30_000

/** How often a claim is extended, in milliseconds. */
export const HEARTBEAT = LEASE / 15

/**
 * Adds a job, unless one of the same kind and subject is already waiting. Turns are fair: a job comes after those of
 * its own organisation and beside the first job of any other, so nobody waits for more than one job of each
 * organisation.
 */
export async function enqueue(
  writer: Writer,
  { kind, subject, eid, due = Date.now() }: { kind: JobKind; subject: string; eid: string; due?: number },
): Promise<void> {
  const kinds = (TOGETHER.includes(kind) ? TOGETHER : [kind]).map((each) => `'${each}'`).join(', ')
  await writer.run(
    `insert into job (kind, subject, eid, turn, queued, due, attempts, request)
     select $1, $2, $3,
       case when own.last is not null and own.last >= now.turn then own.last + 1 else now.turn end, $4, $5, 0, $6
     from (select max(turn) as last from job where eid = $3 and kind in (${kinds})) own,
       (select coalesce(
          (select max(turn) from job where kind in (${kinds}) and worker is not null),
          (select min(turn) from job where kind in (${kinds})), 0) as turn) now
     where true on conflict (kind, subject) do nothing`,
    [kind, subject, eid, Date.now(), due, currentRequest() ?? null],
  )
}

/**
 * Claims the next job that is free or whose claim has expired.
 *
 * @param worker the name of the claim, which must be unique
 */
export async function claim(
  database: Database,
  worker: string,
  kinds: readonly JobKind[],
): Promise<Job | undefined> {
  const asked = Date.now()
  const names = kinds.map((kind) => `'${kind}'`).join(', ')
  const free = `kind in (${names}) and due <= $1 and (worker is null or lease < $2)`
  // Most polls find nothing, and so take no lock.
  if ((await database.get(`select id from job where ${free} limit 1`, [asked, asked])) === undefined)
    return undefined
  return await database.write(`job:${worker}`, (writer) => {
    const now = Date.now()
    // After a long transaction on SQLite, such as an import, no claim could be extended for as long. What lapsed minutes
    // ago is nobody's even if every claim waits for so long.
    const lapsed = now - asked < HEARTBEAT ? now : now - 10 * LEASE
    return writer.get<Job>(
      `update job set worker = $3, lease = $4, attempts = attempts + 1
       where id = (select id from job where ${free} order by turn, id limit 1 ${writer.dialect.skipLocked})
       returning id, kind, subject, eid, queued, attempts, worker, request`,
      [now, lapsed, worker, now + LEASE],
    )
  })
}

/**
 * Extends a claim; returns `false` if the worker no longer holds the job because it was cancelled or claimed by
 * another worker.
 */
export async function extend(writer: Writer, { id, worker }: Job): Promise<boolean> {
  const changed = await writer.run('update job set lease = $3 where id = $1 and worker = $2', [
    id,
    worker,
    Date.now() + LEASE,
  ])
  return changed === 1
}

/** Removes a finished job, in the transaction that stores its result; returns `false` as `extend` does. */
export async function finish(writer: Writer, { id, worker }: Job): Promise<boolean> {
  return (await writer.run('delete from job where id = $1 and worker = $2', [id, worker])) === 1
}

/** Releases a job so that it can be claimed from `due` on. A worker that is stopping does not use up an attempt. */
export async function release(
  writer: Writer,
  { id, worker }: Job,
  { due = Date.now(), countAttempt = true }: { due?: number; countAttempt?: boolean } = {},
): Promise<void> {
  await writer.run(
    `update job set worker = null, lease = null, due = $3, attempts = attempts - $4 where id = $1 and worker = $2`,
    [id, worker, due, countAttempt ? 0 : 1],
  )
}

/** Removes a job, whether or not it is claimed. */
export async function cancelJob(writer: Writer, kind: JobKind, subject: string): Promise<void> {
  await writer.run('delete from job where kind = $1 and subject = $2', [kind, subject])
}

/** Removes the jobs of a kind whose subjects are numbers, up to one of them: later ones are not done. */
export async function endNumberedJobs(writer: Writer, kind: JobKind, last: number): Promise<void> {
  // Subjects of other kinds are no numbers.
  await writer.run('delete from job where case when kind = $1 then cast(subject as bigint) end <= $2', [
    kind,
    last,
  ])
}

/** Counts the unclaimed jobs of a kind, in total and for one organisation. */
export async function countWaiting(
  reader: Reader,
  kind: JobKind,
  eid: string,
): Promise<{ total: number; own: number }> {
  const row = await reader.get<{ total: number; own: number }>(
    `select count(*) as total, coalesce(sum(case when eid = $2 then 1 else 0 end), 0) as own
     from job where kind = $1 and worker is null`,
    [kind, eid],
  )
  return row ?? { total: 0, own: 0 }
}

/** Adds a job that repeats itself, unless it is there. */
export async function schedule(database: Database, kind: JobKind, subject: string): Promise<void> {
  // Most calls find it, and so take no lock.
  const known = await database.get('select id from job where kind = $1 and subject = $2', [kind, subject])
  if (known !== undefined) return
  await database.write(`job:${kind}`, (writer) => enqueue(writer, { kind, subject, eid: '' }))
}

/** The jobs of a kind, at one time. */
export interface JobCounts {
  readonly kind: string
  readonly jobs: number
  /** Jobs that are due and that no worker holds. */
  readonly waiting: number
  /** Jobs that workers hold. */
  readonly running: number
  readonly workers: number
  /** When the longest waiting job was queued, and since when it has been due, in milliseconds since 1970. */
  readonly queued: number | null
  readonly due: number | null
}

/** Counts the jobs by kind. One that is not due yet, such as the next sweep, does not wait for a worker. */
export async function countJobs(reader: Reader, now: number): Promise<JobCounts[]> {
  const held = 'coalesce(lease, 0) >= $1'
  const waits = `due <= $1 and not ${held}`
  return await reader.all<JobCounts>(
    `select kind, count(*) as jobs, count(case when ${waits} then 1 end) as waiting,
       count(case when ${held} then 1 end) as running,
       count(distinct case when ${held} then worker end) as workers,
       min(case when ${waits} then queued end) as queued,
       min(case when ${waits} then case when due > queued then due else queued end end) as due
     from job group by kind order by kind`,
    [now],
  )
}
