import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { connect as connectTcp, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { hasTables, isMigrated } from '../foundation/database/migrate.ts'
import { connectDatabase } from '../foundation/database/open.ts'
import { Sealer, type SealKey } from '../foundation/database/seal.ts'
import { count, formatBytes } from '../foundation/text/format-number.ts'
import { showDay } from '../foundation/text/zoned-time.ts'
import { findUnchecked } from '../submissions/encryption/open-sealer.ts'
import { readKeys, readStatus } from './status.ts'

/** The settings that can be tested. */
export interface TriedSettings {
  readonly DATABASE_URL: string
  readonly ERASURE_LOG?: string
  readonly REDIS_URL?: string
  readonly JWT_JWKS_URL?: string
  readonly ENCRYPTION_KEYS?: readonly SealKey[]
  readonly CHECK_FOLDER?: string | undefined
  readonly CHECK_DISK_MB: number
  readonly HOST: string
  readonly PORT: number
  readonly METRICS_HOST: string
  readonly METRICS_PORT: number
  readonly TRUST_PROXY: false | readonly string[]
}

export interface Finding {
  readonly name: string
  readonly state: 'good' | 'warning' | 'bad'
  /** The result and, if it is a fault, what to do. */
  readonly message: string
}

type Outcome = Omit<Finding, 'name'>
const good = (message: string): Outcome => ({ state: 'good', message })
const warning = (message: string): Outcome => ({ state: 'warning', message })
const bad = (message: string): Outcome => ({ state: 'bad', message })

/** How long a remote service may take to respond, in milliseconds. */
const PATIENCE = 3_000

/** Tests everything that the settings refer to, without changing anything, and says what to do. */
export async function examine(settings: TriedSettings): Promise<Finding[]> {
  const checks: [string, () => Promise<Outcome> | Outcome][] = [
    ['Node.js', () => good(process.version)],
    ['DATABASE_URL', () => tryDatabase(settings.DATABASE_URL)],
    ['API keys', () => examineKeys(settings.DATABASE_URL)],
    ['SQLite file', () => examineFile(settings.DATABASE_URL)],
    ['ENCRYPTION_KEYS', () => examineEncryption(settings)],
    ['CHECK_FOLDER', () => examineFolder(settings)],
    ['REDIS_URL', () => tryOptional(settings.REDIS_URL, tryPort)],
    ['JWT_JWKS_URL', () => tryOptional(settings.JWT_JWKS_URL, tryWeb)],
    ['PORT', () => tryListen(settings.PORT, settings.HOST, 'PORT')],
    ['METRICS_PORT', () => tryListen(settings.METRICS_PORT, settings.METRICS_HOST, 'METRICS_PORT')],
    ['TRUST_PROXY', () => examineProxy(settings)],
  ]
  const findings: Finding[] = []
  for (const [name, check] of checks) {
    try {
      findings.push({ name, ...(await check()) })
    } catch (error) {
      findings.push({ name, ...bad(error instanceof Error ? error.message : String(error)) })
    }
  }
  return findings
}

async function tryDatabase(url: string): Promise<Outcome> {
  const database = await connectDatabase(url, { existing: true })
  try {
    if (!(await hasTables(database))) return bad('The database has no tables yet: run "mahi migrate".')
    if (!(await isMigrated(database)))
      return warning('The tables of the database are older than this version: run "mahi migrate".')
    const { occupations } = await readStatus(database)
    if (occupations === 0)
      return warning('The database works. It has no occupations yet: run "mahi occupations import FILE".')
    return good('The database works, and its tables are up to date.')
  } finally {
    await database.close()
  }
}

async function examineKeys(url: string): Promise<Outcome> {
  const database = await connectDatabase(url, { existing: true })
  try {
    if (!(await hasTables(database))) return good('There are none yet.')
    if (!(await isMigrated(database))) return good('Not examined: the tables are older than this version.')
    const { valid, expiring } = await readKeys(database, Date.now())
    if (valid === 0) return warning('There is no valid key: run "mahi keys create --client NAME".')
    const first = expiring.find(({ replacedBy }) => replacedBy === undefined)
    if (first !== undefined)
      return warning(
        `The key ${first.id} of ${first.clientId} expires on ${showDay(Date.parse(first.expires))}: run "mahi keys rotate ${first.id}".`,
      )
    return good(`${count(valid, 'valid key')}.`)
  } finally {
    await database.close()
  }
}

async function examineEncryption(settings: TriedSettings): Promise<Outcome> {
  const sealer = new Sealer(settings.ENCRYPTION_KEYS)
  const { keyId } = sealer
  const database = await connectDatabase(settings.DATABASE_URL, { existing: true })
  try {
    if (!(await hasTables(database)) || !(await isMigrated(database))) return good('Nothing to decrypt.')
    await findUnchecked(database, sealer)
    return good(keyId === null ? 'Not used.' : `"${keyId}" encrypts what is stored from now on.`)
  } finally {
    await database.close()
  }
}

function examineFile(url: string): Outcome {
  if (!url.startsWith('sqlite:')) return good('Not used.')
  const path = url.slice('sqlite:'.length)
  const mode = statSync(path).mode & 0o777
  if ((mode & 0o077) !== 0)
    return warning(
      `Others may read it (mode ${mode.toString(8)}), and it holds personal data: chmod 600 ${path}`,
    )
  return good('Only its owner may read it.')
}

/** Where validations keep their files meanwhile. */
function examineFolder({ CHECK_FOLDER: folder = tmpdir(), CHECK_DISK_MB }: TriedSettings): Outcome {
  const otherwise = 'or name another folder in CHECK_FOLDER: validations fail until then.'
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return good(`${folder} does not exist yet; the service creates it.`)
  if (!found.isDirectory()) return bad(`${folder} is not a folder: make it one, ${otherwise}`)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return bad(`${folder} cannot be written: let the user of the service write to it, ${otherwise}`)
  }
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const most = CHECK_DISK_MB * 2 ** 20
  const has = `${folder} has ${formatBytes(free)} of free space`
  if (free < most)
    return warning(
      `${has}, and a validation may need ${formatBytes(most)} (CHECK_DISK_MB): free some, or lower it.`,
    )
  return good(`${has}.`)
}

async function tryOptional(
  value: string | undefined,
  check: (value: string) => Promise<Outcome>,
): Promise<Outcome> {
  return value === undefined ? good('Not used.') : await check(value)
}

async function tryPort(url: string): Promise<Outcome> {
  const { hostname, port } = new URL(url)
  return await new Promise((resolve) => {
    const socket = connectTcp({ host: hostname, port: Number(port) || 6379, timeout: PATIENCE })
    const end = (outcome: Outcome) => {
      socket.destroy()
      resolve(outcome)
    }
    socket.once('connect', () => end(good('It accepts connections.')))
    socket.once('timeout', () =>
      end(bad('It does not answer: is it running, and does the network let you through?')),
    )
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(bad(`It cannot be reached (${error.code}): is it running?`)),
    )
  })
}

async function tryWeb(url: string): Promise<Outcome> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) }).catch(() => undefined)
  if (response === undefined) return bad('It does not answer: tokens get 503 until it does.')
  await response.body?.cancel()
  return response.ok ? good('It answers.') : bad(`It answers with ${response.status}.`)
}

async function tryListen(port: number, host: string, setting: string): Promise<Outcome> {
  if (port === 0) return good(setting === 'PORT' ? 'Any free port.' : 'Not used.')
  return await new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        error.code === 'EADDRINUSE'
          ? warning(
              `Port ${port} is in use, which is right where the service runs. Otherwise choose another, or end the other program.`,
            )
          : bad(`The service cannot listen on ${host}:${port} (${error.code}).`),
      ),
    )
    server.listen(port, host, () => server.close(() => resolve(good(`Port ${port} is free.`))))
  })
}

function examineProxy({ HOST, TRUST_PROXY }: TriedSettings): Outcome {
  if (TRUST_PROXY === false && HOST !== '127.0.0.1' && HOST !== '::1')
    return warning('No proxy is trusted: behind one, all callers share its address. Name it in TRUST_PROXY.')
  return good(TRUST_PROXY === false ? 'Not used.' : `Trusted: ${TRUST_PROXY.join(', ')}.`)
}
