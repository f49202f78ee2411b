import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type KeyDescription, listKeys, revokeKeys, shortenKeys } from '../api/access/keys.ts'
import { isSuspended, listSuspensions, storeSuspension } from '../api/access/suspensions.ts'
import { type Database, DatabaseUnusable, type Reader } from '../foundation/database/database.ts'
import {
  assertTables,
  connectDatabase,
  isSameDatabase,
  openDatabase,
  pathOf,
} from '../foundation/database/open.ts'
import { Sealer, type SealKey } from '../foundation/database/seal.ts'
import { describeReadError } from '../foundation/faults/read-error.ts'
import { quote } from '../foundation/text/quote.ts'
import { findUnchecked } from '../submissions/open-sealer.ts'
import { eraseAgain } from '../submissions/retention/erasures.ts'
import { assertIntact } from './backup.ts'

export interface RestoredSettings {
  /** The restored database. */
  readonly DATABASE_URL: string
  readonly ENCRYPTION_KEYS?: readonly SealKey[] | undefined
  readonly ERASURE_LOG?: string | undefined
}

/** What is known of the time since the backup; each is read if it is there. */
export interface Sources {
  /** The database that the restored one replaces: its URL, its name on the same server, or its file. */
  readonly replaced?: string | undefined
  /** A file with the log of the service. */
  readonly log?: string | undefined
}

/** What was so before the restore, and is so again. */
export interface Repeated {
  /** Submissions that were erased. */
  readonly erased: number
  /** Keys that were revoked, of those that were valid. */
  readonly revoked: readonly KeyDescription[]
  /** Keys that expired later, before they were rotated, with the expiry that they have again. */
  readonly shortened: readonly KeyDescription[]
  /** Organisations that were suspended, by EID. */
  readonly suspended: readonly string[]
}

/**
 * Repeats in a restored database what must not be undone: since the backup, submissions were erased, keys revoked or
 * rotated, and organisations suspended. It can be repeated.
 *
 * @throws {DatabaseUnusable} if the restored database is damaged, or of other encryption keys; nothing is changed then
 */
export async function repeatAfterRestore(
  { DATABASE_URL: url, ENCRYPTION_KEYS, ERASURE_LOG }: RestoredSettings,
  { replaced: named, log }: Sources,
): Promise<Repeated> {
  const replacedUrl = named === undefined ? undefined : resolveUrl(named, url)
  if (replacedUrl !== undefined && isSameDatabase(replacedUrl, url))
    throw new DatabaseUnusable('--replaced and DATABASE_URL name the same database: it is the one before')
  if (ERASURE_LOG !== undefined && !existsSync(ERASURE_LOG))
    throw new DatabaseUnusable(
      `ERASURE_LOG names ${ERASURE_LOG}, which does not exist. Copy the logs of all machines into it, or unset it if there is none. Nothing was changed`,
    )
  const changes = log === undefined ? NO_CHANGES : await readChanges(log)
  if (url.startsWith('sqlite:') && existsSync(pathOf(url))) assertIntact(pathOf(url))
  const replaced =
    replacedUrl === undefined
      ? undefined
      : await connectDatabase(replacedUrl, { existing: true, setting: '--replaced' })
  try {
    if (replaced !== undefined) await assertTables(replaced, '--replaced')
    const restored = await openDatabase(url, { existing: true })
    try {
      await findUnchecked(restored, new Sealer(ENCRYPTION_KEYS))
      const erased = await eraseAgain(restored, replaced, ERASURE_LOG)
      const before = replaced === undefined ? [] : await listKeys(replaced)
      const revoked = await revokeAgain(restored, before, changes.revoked)
      const shortened = await shortenAgain(restored, before, changes.expires)
      const suspended = await suspendAgain(restored, replaced, changes.suspended)
      return { erased, revoked, shortened, suspended }
    } finally {
      await restored.close()
    }
  } finally {
    await replaced?.close()
  }
}

/** A name needs no password on the command line, where others would see it. */
function resolveUrl(named: string, restored: string): string {
  if (/^(?:sqlite|postgres(?:ql)?):/.test(named)) return named
  if (restored.startsWith('sqlite:')) return `sqlite:${named}`
  const url = new URL(restored)
  url.pathname = `/${encodeURIComponent(named)}`
  return url.toString()
}

async function revokeAgain(
  restored: Database,
  before: readonly KeyDescription[],
  logged: ReadonlySet<string>,
): Promise<KeyDescription[]> {
  const ids = [...logged, ...before.filter(({ revoked }) => revoked !== null).map(({ id }) => id)]
  const keys = await revokeKeys(restored, ids)
  return keys.filter(({ revoked }) => revoked === null)
}

/** An expiry is only ever brought forward, so the earliest is the last. */
async function shortenAgain(
  restored: Database,
  before: readonly KeyDescription[],
  logged: ReadonlyMap<string, number>,
): Promise<KeyDescription[]> {
  const ends = new Map(logged)
  for (const { id, expires } of before) ends.set(id, Math.min(expires, ends.get(id) ?? expires))
  const keys = await shortenKeys(restored, ends)
  return keys.map((key) => ({ ...key, expires: ends.get(key.id) ?? key.expires }))
}

async function suspendAgain(
  restored: Database,
  replaced: Reader | undefined,
  logged: ReadonlySet<string>,
): Promise<string[]> {
  const reasons = new Map([...logged].map((eid) => [eid, 'Suspended before a restore.']))
  for (const { eid, reason } of replaced === undefined ? [] : await listSuspensions(replaced))
    reasons.set(eid, reason)
  const again: string[] = []
  for (const [eid, reason] of reasons) {
    if (await isSuspended(restored, eid)) continue
    await storeSuspension(restored, { eid, reason })
    again.push(eid)
  }
  return again
}

interface Changes {
  /** The ids of keys. */
  readonly revoked: ReadonlySet<string>
  /** The earliest expiry of each key that was changed, in milliseconds since 1970. */
  readonly expires: ReadonlyMap<string, number>
  /** The EIDs of organisations that are suspended at the end of the log. */
  readonly suspended: ReadonlySet<string>
}

const NO_CHANGES: Changes = { revoked: new Set(), expires: new Map(), suspended: new Set() }

/** Reads the audit lines of a log, whatever a log collector prepends to each line. */
async function readChanges(file: string): Promise<Changes> {
  const revoked = new Set<string>()
  const expires = new Map<string, number>()
  const suspended = new Set<string>()
  const input = file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      const [, event] = /"audit":"(revoked|changed|suspended|resumed)"/.exec(line) ?? []
      const [, key] = /"key":"(mahi_[0-9a-f]{12})"/.exec(line) ?? []
      const [, eid] = /"eid":"([^"\\]+)"/.exec(line) ?? []
      const until = Date.parse(/"expires":"([^"]+)"/.exec(line)?.[1] ?? '')
      if (event === 'revoked' && key !== undefined) revoked.add(key)
      else if (event === 'changed' && key !== undefined && !Number.isNaN(until))
        expires.set(key, Math.min(until, expires.get(key) ?? until))
      else if (event === 'suspended' && eid !== undefined) suspended.add(eid)
      else if (event === 'resumed' && eid !== undefined) suspended.delete(eid)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new DatabaseUnusable(`--log ${quote(file)} ${describeReadError(code)}. Nothing was changed`)
  }
  return { revoked, expires, suspended }
}
