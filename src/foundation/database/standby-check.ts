import type { Reader } from './database.ts'
import { isMigrated } from './migrate.ts'

/** The state that a PostgreSQL server reports. */
interface ServerState {
  /** Whether it replays another server's WAL, as a standby does. */
  readonly recovering: boolean
  /** Start time, which identifies the server. */
  readonly started: string
  /** The WAL position written or replayed, in bytes. */
  readonly position: number
  /** The system identifier of its cluster; `undefined` if this user may not read it. */
  readonly system?: string
  /** Incremented each time a standby is promoted. */
  readonly timeline?: number
}

const STATE = `select pg_is_in_recovery() as recovering, pg_postmaster_start_time()::text as started,
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end - '0/0'::pg_lsn as position`

/** A standby reports its timeline at the last restart point, and at the end of the replayed WAL. */
const IDENTITY = `select (select system_identifier::text from pg_control_system()) as system,
  case when pg_is_in_recovery()
    then greatest((select timeline_id from pg_control_checkpoint()), (select min_recovery_end_timeline from pg_control_recovery()))
    else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end as timeline`

async function readState(reader: Reader): Promise<ServerState> {
  const state = await reader.get<ServerState>(STATE)
  if (state === undefined) throw new Error('the server returned no state')
  // Some hosted servers do not grant this.
  const identity = await reader.get<Pick<ServerState, 'system' | 'timeline'>>(IDENTITY).catch(() => undefined)
  return { ...state, ...identity }
}

/** The most positions of the primary to keep; beyond it, every other one is dropped. */
const MOST_POSITIONS = 1_000

/**
 * Checks whether a standby belongs to this primary, and how far it is behind. Its lag is the time since the primary
 * first wrote what the standby has not replayed. Unlike the age of the last replayed transaction, this lag does not
 * grow while nothing is written, and does not depend on the servers' clocks.
 */
export class StandbyCheck {
  readonly #standby: Reader
  readonly #primary: Reader
  readonly #now: () => number
  #known: ServerState | undefined
  #positions: { readonly time: number; readonly position: number }[] = []
  #lag: number | undefined

  /** @param now milliseconds of a monotonic clock */
  constructor(standby: Reader, primary: Reader, now = () => performance.now()) {
    this.#standby = standby
    this.#primary = primary
    this.#now = now
  }

  /** The lag at the last check, in seconds; `undefined` if unknown. */
  get lag(): number | undefined {
    return this.#lag
  }

  /**
   * Checks both servers. While the primary is away, the standby is compared with the primary's last known state.
   *
   * @returns why the standby must not be used, or `undefined` if it may be
   * @throws if the standby does not respond
   */
  async check(): Promise<string | undefined> {
    this.#lag = undefined
    const primary = await readState(this.#primary).catch(() => undefined)
    if (primary !== undefined) this.#remember(primary)
    const standby = await readState(this.#standby)
    if (this.#known === undefined) return 'the primary has not responded yet'
    const reason = findDifference(this.#known, standby)
    if (reason !== undefined) return reason
    if (!(await isMigrated(this.#standby))) return 'its tables are not up to date'
    this.#lag = this.#measure(standby.position)
    return undefined
  }

  #remember(primary: ServerState): void {
    // After a failover, positions belong to another server.
    if (primary.started !== this.#known?.started) this.#positions = []
    this.#known = primary
    if (primary.recovering) return
    const last = this.#positions.at(-1)
    if (last !== undefined && last.position === primary.position) return
    this.#positions.push({ time: this.#now(), position: primary.position })
    if (this.#positions.length > MOST_POSITIONS)
      this.#positions = this.#positions.filter((_, index) => index % 2 === 1)
  }

  #measure(replayed: number): number {
    while (this.#positions[0] !== undefined && this.#positions[0].position <= replayed)
      this.#positions.shift()
    const [missing] = this.#positions
    return missing === undefined ? 0 : (this.#now() - missing.time) / 1000
  }
}

function findDifference(primary: ServerState, standby: ServerState): string | undefined {
  if (primary.system !== undefined && standby.system !== undefined && primary.system !== standby.system)
    return 'it belongs to a different database cluster than the primary (their system identifiers differ)'
  if (standby.started === primary.started)
    return 'it is the same server as the primary, so redundancy is lost. Let DATABASE_READ_URL lead to another standby'
  if (!standby.recovering) return 'it has been promoted: it accepts writes and no longer follows the primary'
  if (
    primary.timeline !== undefined &&
    standby.timeline !== undefined &&
    standby.recovering &&
    standby.timeline > primary.timeline
  )
    return `it follows another primary (its timeline is ${standby.timeline}, the primary's is ${primary.timeline})`
  return undefined
}
