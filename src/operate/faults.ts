import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { tryWritable } from '../foundation/command-line/writable.ts'
import type { Database } from '../foundation/database/database.ts'
import { pathOf } from '../foundation/database/open.ts'
import { Sealer, type SealKey } from '../foundation/database/seal.ts'
import { formatBytes } from '../foundation/text/format-number.ts'
import { showDay } from '../foundation/text/zoned-time.ts'
import { diskOf } from '../submissions/check-limits.ts'
import { findUnchecked } from '../submissions/open-sealer.ts'
import { Definitions } from '../submissions/rules/definitions.ts'
import { listUnreplaced, type State } from './state.ts'

/** The settings that name something that can be wrong. */
export interface TriedSettings {
  readonly DATABASE_URL: string
  readonly REDIS_URL?: string | undefined
  readonly JWT_JWKS_URL?: string | undefined
  readonly OIDC_ISSUER?: string | undefined
  readonly ENCRYPTION_KEYS?: readonly SealKey[] | undefined
  readonly DEFINITIONS: readonly string[]
  readonly CHECK_FOLDER?: string | undefined
  readonly ERASURE_LOG?: string | undefined
  readonly SNAPSHOT_FOLDER: string
  readonly UPLOAD_MAX_MB: number
  readonly HOST: string
  readonly TRUST_PROXY: false | readonly string[]
}

/** Something that is wrong. */
export interface Fault {
  readonly name: string
  /** With `bad`, the service cannot use what its settings name; it works with a `warning`. */
  readonly state: 'warning' | 'bad'
  /** What is wrong, and what to do. */
  readonly message: string
}

type Found = Omit<Fault, 'name'> | undefined
const warning = (message: string): Found => ({ state: 'warning', message })
const bad = (message: string): Found => ({ state: 'bad', message })

const HOUR = 3_600
/** Seconds without a backup, as in the alert MahiBackupOld. */
const OLD_BACKUP = 26 * HOUR
/** Seconds for which a job may wait while no worker runs: one that has just started has not looked yet. */
const LONG_WAIT = 60

/** How long another service may take to respond, in milliseconds. */
const PATIENCE = 3_000

type Check = readonly [name: string, check: () => Found | Promise<Found>]

/** What is wrong with the state of a database. */
export async function findInDatabase(
  settings: TriedSettings,
  database: Database,
  state: State,
): Promise<Fault[]> {
  return await run([
    ['ENCRYPTION_KEYS', () => tryKeys(database, settings)],
    ['Keys', () => examineKeys(state)],
    ['Worker', () => examineQueue(state)],
    ['Retention', () => examineRetention(state)],
    ['Search index', () => examineIndex(state)],
    ['Backup', () => examineBackups(state)],
    ['Disk', () => examineDisk(state)],
  ])
}

/** What is wrong outside of the database, with what the settings name. */
export async function findElsewhere(settings: TriedSettings): Promise<Fault[]> {
  const { DEFINITIONS, ERASURE_LOG, SNAPSHOT_FOLDER, REDIS_URL, JWT_JWKS_URL, OIDC_ISSUER } = settings
  return await run([
    ['SQLite file', () => examineFile(settings.DATABASE_URL)],
    ['DEFINITIONS', () => tryDefinitions(DEFINITIONS)],
    ['CHECK_FOLDER', () => examineFolder(settings)],
    ['ERASURE_LOG', () => tryPaths({ ERASURE_LOG })],
    ['SNAPSHOT_FOLDER', () => tryPaths({ SNAPSHOT_FOLDER })],
    ['REDIS_URL', () => (REDIS_URL === undefined ? undefined : tryRedis(REDIS_URL))],
    ['JWT_JWKS_URL', () => (JWT_JWKS_URL === undefined ? undefined : tryWeb(JWT_JWKS_URL))],
    [
      'OIDC_ISSUER',
      () =>
        OIDC_ISSUER === undefined
          ? undefined
          : tryWeb(`${OIDC_ISSUER.replace(/\/$/, '')}/.well-known/openid-configuration`),
    ],
    ['TRUST_PROXY', () => examineProxy(settings)],
  ])
}

async function run(checks: readonly Check[]): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const [name, check] of checks) {
    try {
      const found = await check()
      if (found !== undefined) faults.push({ name, ...found })
    } catch (error) {
      faults.push({ name, state: 'bad', message: error instanceof Error ? error.message : String(error) })
    }
  }
  return faults
}

async function tryKeys(database: Database, { ENCRYPTION_KEYS }: TriedSettings): Promise<Found> {
  await findUnchecked(database, new Sealer(ENCRYPTION_KEYS))
  return undefined
}

function examineKeys(state: State): Found {
  if (state.validKeys === 0) return warning('There is no valid key: run "mahi keys create --client NAME".')
  const [first] = listUnreplaced(state)
  if (first === undefined) return undefined
  return warning(
    `The key ${first.id} of ${first.client} expires on ${showDay(first.expires)}: run "mahi keys rotate ${first.id}".`,
  )
}

function examineQueue({ jobs }: State): Found {
  const works = jobs.some(({ workers }) => workers > 0)
  const due = Math.min(...jobs.flatMap((job) => job.due ?? []))
  if (works || (Date.now() - due) / 1000 < LONG_WAIT || !Number.isFinite(due)) return undefined
  return warning('Jobs wait, and no worker does them: run "mahi work", or set WORKERS for "mahi serve".')
}

function examineRetention({ retentionPause }: State): Found {
  if (retentionPause === undefined) return undefined
  return warning(
    `Nothing is deleted by age until ${showDay(retentionPause)}: the clock was more than seven days after the last sweep. Set it if it is wrong.`,
  )
}

function examineIndex({ searchIndex: { failure } }: State): Found {
  if (failure === undefined) return undefined
  return warning(`It could not be built: ${failure.reason}. Build it with "mahi occupations index".`)
}

function examineBackups({ backups, backupAge }: State): Found {
  const failed = backups.find((backup) => backup.failed !== null)
  if (failed !== undefined) return warning(`The last one by ${failed.program} has failed: ${failed.reason}`)
  if (backupAge <= OLD_BACKUP) return undefined
  return warning(
    `There is none of the last ${Math.floor(backupAge / HOUR)} hours: run "mahi backup FILE", or see "Backups" in docs/operations.md.`,
  )
}

/** An import writes its changes beside the database first, and a backup copies all of it. */
function examineDisk({ free, bytes }: State): Found {
  if (free === null || free >= bytes) return undefined
  return warning(
    `It has ${formatBytes(free)} of free space, and the database takes ${formatBytes(bytes)}: free some before the next import or backup.`,
  )
}

function examineFile(url: string): Found {
  if (!url.startsWith('sqlite:')) return undefined
  const path = pathOf(url)
  const found = statSync(path, { throwIfNoEntry: false })
  const mode = found?.isFile() ? found.mode : 0
  if ((mode & 0o077) === 0) return undefined
  return warning(
    `Others may read it (mode ${(mode & 0o777).toString(8)}), and it holds personal data: chmod 600 ${path}`,
  )
}

/** As the service reads them when it starts. */
function tryDefinitions(names: readonly string[]): Found {
  new Definitions(names)
  return undefined
}

function tryPaths(settings: Parameters<typeof tryWritable>[0]): Found {
  tryWritable(settings)
  return undefined
}

/** Where validations keep their files meanwhile. */
function examineFolder({ CHECK_FOLDER: folder = tmpdir(), ...settings }: TriedSettings): Found {
  const otherwise = 'or name another folder in CHECK_FOLDER: validations fail until then.'
  const found = statSync(folder, { throwIfNoEntry: false })
  // The service creates it.
  if (found === undefined) return tryPaths({ CHECK_FOLDER: folder })
  if (!found.isDirectory()) return bad(`${folder} is not a folder: make it one, ${otherwise}`)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return bad(`${folder} cannot be written: let the user of the service write to it, ${otherwise}`)
  }
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const most = diskOf(settings)
  if (free >= most) return undefined
  return warning(
    `${folder} has ${formatBytes(free)} of free space, and a validation may need ${formatBytes(most)} (16 times UPLOAD_MAX_MB): free some, or lower that.`,
  )
}

const SILENT = 'does not respond: is it running, and does the network let you through?'

async function tryRedis(url: string): Promise<Found> {
  const { hostname, port } = new URL(url)
  // A URL has an IPv6 address in brackets, and a socket has none.
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) || 6379, timeout: PATIENCE })
    const end = (found: Found) => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => end(undefined))
    socket.once('timeout', () => end(bad(`It ${SILENT}`)))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(bad(`It cannot be reached (${error.code}): is it running?`)),
    )
  })
}

async function tryWeb(url: string): Promise<Found> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) }).catch(() => undefined)
  if (response === undefined) return bad(`${url} ${SILENT}`)
  await response.body?.cancel()
  return response.ok ? undefined : bad(`${url} responds with ${response.status}.`)
}

function examineProxy({ HOST, TRUST_PROXY }: TriedSettings): Found {
  if (TRUST_PROXY !== false || HOST === '127.0.0.1' || HOST === '::1') return undefined
  return warning('No proxy is trusted: behind one, all callers share its address. Name it in TRUST_PROXY.')
}
