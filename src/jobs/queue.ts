import type { Database, Reader, Writer } from '../database/database.ts'

/** Kinds of jobs. Each has one handler; maintenance never waits behind runs. */
export type JobKind = 'run' | 'purge' | 'retention'

/** A job that a worker has claimed. */
export interface Job {
  readonly id: number
  readonly kind: JobKind
  /** The subject of the job, such as the number of a run. */
  readonly subject: string
  readonly eid: string
  /** The number of claims so far, including this one. */
  readonly attempts: number
  /** The holder's name, which is unique for each claim. */
  readonly worker: string
}

/** Attempts before a job counts as failed. */
export const MOST_ATTEMPTS = 3

/** How long a claim lasts without a heartbeat, in milliseconds. */
export const LEASE = 30_000

/**
 * Adds a job, unless one of the same kind and subject is already waiting. Turns are fair: a job comes after those of
 * its own organisation and beside the first job of any other, so nobody waits for more than one job of each
 * organisation.
 */
export async function enqueue(
  writer: Writer,
  { kind, subject, eid, due = Date.now() }: { kind: JobKind; subject: string; eid: string; due?: number },
): Promise<void> {
  await writer.run(
    `insert into job (kind, subject, eid, turn, queued, due, attempts)
     select $1, $2, $3,
       case when own.last is not null and own.last >= now.turn then own.last + 1 else now.turn end, $4, $5, 0
     from (select max(turn) as last from job where eid = $3 and kind = $1) own,
       (select coalesce(
          (select max(turn) from job where kind = $1 and worker is not null),
          (select min(turn) from job where kind = $1), 0) as turn) now
     where true on conflict (kind, subject) do nothing`,
    [kind, subject, eid, Date.now(), due],
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
  const now = Date.now()
  const names = kinds.map((kind) => `'${kind}'`).join(', ')
  const free = `kind in (${names}) and due <= $1 and (worker is null or lease < $1)`
  // Most polls find nothing, and so take no lock.
  if ((await database.get(`select id from job where ${free} limit 1`, [now])) === undefined) return undefined
  return await database.write(`job:${worker}`, (writer) =>
    writer.get<Job>(
      `update job set worker = $2, lease = $3, attempts = attempts + 1
       where id = (select id from job where ${free} order by turn, id limit 1 ${writer.dialect.skipLocked})
       returning id, kind, subject, eid, attempts, worker`,
      [now, worker, now + LEASE],
    ),
  )
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

/** Counts the jobs before a job; 0 means that it is next. */
export async function countBefore(reader: Reader, kind: JobKind, subject: string): Promise<number> {
  const row = await reader.get<{ before: number }>(
    `select count(*) as before from job other, job own
     where own.kind = $1 and own.subject = $2 and other.kind = own.kind and other.worker is null
       and (other.turn < own.turn or (other.turn = own.turn and other.id < own.id))`,
    [kind, subject],
  )
  return row?.before ?? 0
}
