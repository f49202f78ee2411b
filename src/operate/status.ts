import { listKeys, listValid } from '../api/access/keys.ts'
import { countOccupations } from '../catalogue/records/rows.ts'
import type { Database } from '../foundation/database/database.ts'
import { hasTables, isMigrated } from '../foundation/database/migrate.ts'
import { connectDatabase } from '../foundation/database/open.ts'
import { VERSION } from '../foundation/package/root.ts'
import { count, formatBytes, formatNumber } from '../foundation/text/format-number.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { countByKey } from '../submissions/open-sealer.ts'
import { type Fault, findElsewhere, findInDatabase, type TriedSettings } from './faults.ts'
import { readState, type State } from './state.ts'

/** The state for people and programs, and what is wrong. */
export interface Status {
  readonly version: string
  /** `undefined` if the database cannot be read. */
  readonly state: Shown | undefined
  readonly faults: readonly Fault[]
}

/** Reads the state, and tries everything that the settings name, without changing anything. */
export async function readStatus(settings: TriedSettings): Promise<Status> {
  const elsewhere = await findElsewhere(settings)
  const wrong = (message: string): Status => ({
    version: VERSION,
    state: undefined,
    faults: [{ name: 'DATABASE_URL', state: 'bad', message }, ...elsewhere],
  })
  let database: Database | undefined
  try {
    database = await connectDatabase(settings.DATABASE_URL, { existing: true })
    if (!(await hasTables(database))) return wrong('The database has no tables yet: run "mahi migrate".')
    if (!(await isMigrated(database)))
      return wrong('The tables of the database are not of this version: run "mahi migrate".')
    const state = await readState(database)
    return {
      version: VERSION,
      state: show(state, await countByKey(database)),
      faults: [...(await findInDatabase(settings, database, state)), ...elsewhere],
    }
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error))
  } finally {
    await database?.close()
  }
}

const showTime = (time: number | null | undefined) => (time == null ? null : formatTimestamp(time))
const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)

type Shown = ReturnType<typeof show>

/** @param encryption the number of stored items by the key that encrypts them; `null` if not, or not completely */
function show(state: State, encryption: readonly { readonly id: string | null; readonly count: number }[]) {
  const { database, bytes, free, occupations, revisions, jobs, keys, validKeys } = state
  const { stored, failure, current } = state.searchIndex
  const oldest = Math.min(...jobs.flatMap(({ queued }) => queued ?? []))
  const revoked = keys.filter((key) => key.revoked !== null).length
  return {
    database,
    bytes,
    free,
    occupations,
    lastImport: showTime(revisions.catalogue.changed || null),
    revisions: {
      catalogue: revisions.catalogue.number,
      keys: revisions.keys.number,
      run: revisions.run.number,
    },
    searchIndex: {
      state: current ? 'current' : failure === undefined ? 'waiting' : 'failed',
      // Servers open the stored index also while it is not current.
      bytes: stored?.bytes ?? null,
      revision: stored?.revision.number ?? null,
      failed: showTime(failure?.failed),
      reason: failure?.reason ?? null,
    },
    submissions: { total: sum(Object.values(state.submissions)), byState: state.submissions },
    runs: state.runs,
    queue: {
      waiting: sum(jobs.map(({ waiting }) => waiting)),
      running: sum(jobs.map(({ running }) => running)),
      oldest: Number.isFinite(oldest) ? formatTimestamp(oldest) : null,
    },
    workers: sum(jobs.map(({ workers }) => workers)),
    encryption,
    backups: state.backups.map(({ finished, failed, ...rest }) => ({
      ...rest,
      finished: showTime(finished),
      failed: showTime(failed),
    })),
    keys: {
      valid: validKeys,
      expired: keys.length - revoked - validKeys,
      revoked,
      // With the id of the key that replaces it, if there is one: nobody needs to renew it.
      expiring: state.expiringKeys.map(({ key: { id, client, expires }, successor }) => ({
        id,
        clientId: client,
        expires: formatTimestamp(expires),
        ...(successor !== undefined && { replacedBy: successor.id }),
      })),
    },
  }
}

/** The status as text, with one item per line, and what is wrong at the end. */
export function describeStatus({ version, state, faults }: Status): string {
  const lines = [['Version', version], ...(state === undefined ? [] : describeState(state))]
  const width = Math.max(
    ...[...lines.map(([name = '']) => name), ...faults.map(({ name }) => name)].map(({ length }) => length),
  )
  return [
    ...lines.map(([name = '', text]) => `${name.padEnd(width)}  ${text}\n`),
    faults.length === 0 ? '\nNothing is wrong.\n' : '\nWrong:\n',
    ...faults.map((fault) => `${fault.name.padEnd(width)}  ${fault.state.padEnd(7)}  ${fault.message}\n`),
  ].join('')
}

function describeState(state: Shown): string[][] {
  const { bytes, free, queue, workers, encryption, backups, keys } = state
  const encrypted = encryption.map(
    ({ id, count: kept }) => `${formatNumber(kept)} ${id === null ? 'not encrypted' : `with ${id}`}`,
  )
  return [
    ['Database', `${state.database}, ${formatBytes(bytes)}`],
    ...(free === null ? [] : [['Disk', `${formatBytes(free)} free`]]),
    ['Occupations', `${formatNumber(state.occupations)}; last import ${state.lastImport ?? 'never'}`],
    ['Search index', describeIndex(state.searchIndex)],
    ['Submissions', listCounts(state.submissions.byState)],
    ['Runs', listCounts(state.runs)],
    [
      'Queue',
      `${formatNumber(queue.waiting)} waiting, ${queue.running} running${queue.running === 0 ? '' : ` on ${count(workers, 'worker')}`}`,
    ],
    ['Encryption', `stored items: ${encrypted.join(', ') || 'none'}`],
    ...(backups.length === 0
      ? [['Backup', 'none recorded']]
      : backups.map((each) => ['Backup', describeBackup(each)])),
    ['Keys', `${keys.valid} valid, ${keys.expired} expired, ${keys.revoked} revoked`],
    ...keys.expiring.map(({ id, clientId, expires, replacedBy }) => [
      'Expiring',
      `${id}  ${clientId}  ${expires.slice(0, 10)}${replacedBy === undefined ? '' : `; ${replacedBy} replaces it`}`,
    ]),
  ]
}

function listCounts(counts: State['runs']): string {
  const shown = Object.entries(counts).map(([name, number]) => `${formatNumber(number)} ${name}`)
  return shown.join(', ') || 'none'
}

function describeBackup({ program, finished, bytes, failed, reason }: Shown['backups'][number]): string {
  const made = finished === null ? 'never' : `${finished}${bytes === null ? '' : `, ${formatBytes(bytes)}`}`
  return `${made}, by ${program}${failed === null ? '' : `; failed on ${failed}: ${reason}`}`
}

function describeIndex({ state, bytes, revision, failed, reason }: Shown['searchIndex']): string {
  if (state === 'current') return `${formatBytes(bytes ?? 0)}, of revision ${revision}`
  const meanwhile = revision === null ? 'search is unavailable' : `search uses that of revision ${revision}`
  return state === 'waiting'
    ? `not built yet; ${meanwhile}`
    : `could not be built on ${failed}: ${reason}; ${meanwhile}`
}

/** The text for somebody who starts a server in a terminal: its URL, and what is missing. */
export async function describeServer(url: string, database: Database): Promise<string> {
  const occupations = await countOccupations(database)
  const validKeys = listValid(await listKeys(database), Date.now()).length
  const missing = [
    ...(occupations === 0 ? ['Import occupations: mahi occupations import FILE'] : []),
    ...(validKeys === 0 ? ['Make a key for each client: mahi keys create --client NAME'] : []),
  ]
  const holds = `Mahi serves ${url} with ${count(occupations, 'occupation')} and ${count(validKeys, 'valid key')}.`
  return [holds, ...missing, 'Ctrl+C stops it.'].join('\n')
}
