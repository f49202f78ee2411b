// A primary and a standby behind fixed addresses, of which the primary is lost.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../../test/support/cluster.ts'
import { findParent, processorTime } from '../processor-time.ts'

const DATABASE = 'return_day'
/** Only names the sockets: nothing listens on it. */
const PORT = 5432
const SETTINGS = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  wal_keep_size: '1GB',
  wal_log_hints: 'on',
}

/** Seconds after a primary was killed. */
export interface Failover {
  /** Until the standby was promoted and the address led to it. */
  readonly promoted: number
  /** Until the promoted server had a standby of its own again. */
  readonly redundant: number
}

/** Two servers. The addresses are sockets of which a link decides which server they lead to, like a virtual IP. */
export class Servers {
  readonly #links = mkdtempSync(join(tmpdir(), 'mahi-return-day-'))
  #primary: Cluster
  #standby: Cluster
  /** Processor time of servers that are gone. */
  #spent = 0

  private constructor(primary: Cluster, standby: Cluster) {
    this.#primary = primary
    this.#standby = standby
    this.#lead('primary', primary)
    this.#lead('standby', standby)
  }

  static async start(): Promise<Servers> {
    const primary = await Cluster.start(SETTINGS)
    await primary.createDatabase(DATABASE)
    const standby = await primary.startStandby()
    await waitForStandby(primary)
    return new Servers(primary, standby)
  }

  /** The settings that lead to the servers. */
  get urls(): { readonly DATABASE_URL: string; readonly DATABASE_READ_URL: string } {
    const url = (role: string) => `postgres://mahi@localhost:${PORT}/${DATABASE}?host=${this.#links}/${role}`
    return { DATABASE_URL: url('primary'), DATABASE_READ_URL: url('standby') }
  }

  #lead(role: 'primary' | 'standby', { folder, port }: Cluster): void {
    const path = join(this.#links, role)
    mkdirSync(path, { recursive: true })
    symlinkSync(join(folder, `.s.PGSQL.${port}`), join(path, 'new'))
    renameSync(join(path, 'new'), join(path, `.s.PGSQL.${PORT}`))
  }

  async query<Row>(sql: string): Promise<Row[]> {
    return await this.#primary.query<Row>(sql, DATABASE)
  }

  /** Seconds of processor time of all servers. */
  async processorTime(): Promise<number> {
    const times = [this.#primary, this.#standby].map(async (server) =>
      processorTime(await findServer(server), true),
    )
    return (await Promise.all(times)).reduce((sum, each) => sum + each, this.#spent)
  }

  /** Kills the primary, promotes the standby, and gives it a standby. */
  async failOver(): Promise<Failover> {
    const lost = this.#primary
    this.#spent += processorTime(await findServer(lost), true)
    const begun = performance.now()
    const since = () => (performance.now() - begun) / 1000
    await lost.kill()
    await this.#standby.promote()
    this.#lead('primary', this.#standby)
    const promoted = since()
    this.#primary = this.#standby
    this.#standby = await this.#primary.startStandby()
    await waitForStandby(this.#primary)
    this.#lead('standby', this.#standby)
    const redundant = since()
    await lost.remove()
    return { promoted, redundant }
  }

  async remove(): Promise<void> {
    await this.#standby.remove()
    await this.#primary.remove()
    rmSync(this.#links, { recursive: true, force: true })
  }
}

/** The postmaster of a server. */
async function findServer(server: Cluster): Promise<number> {
  const sql = `select pid from pg_stat_activity where backend_type = 'checkpointer'`
  return findParent((await server.query<{ pid: number }>(sql))[0]?.pid ?? 0)
}

/** Waits until a standby streams, and lets every commit wait for it from then on. */
async function waitForStandby(primary: Cluster): Promise<void> {
  const sql = `select 1 from pg_stat_replication where state = 'streaming'`
  while ((await primary.query(sql)).length === 0) await sleep(50)
  await primary.query(`alter system set synchronous_standby_names = '*'`)
  await primary.query('select pg_reload_conf()')
}
