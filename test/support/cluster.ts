import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from './free-port.ts'
import { requireProgram } from './require-program.ts'

/** Longer than a server takes to start, to recover or to catch up on a busy machine, in milliseconds. */
const DEADLINE = 120_000

/** Where the server's programs are; `undefined` where there are none. */
const programs = findPrograms()

/** Who runs the server: it refuses to be root. `undefined` where there is nobody to run it as. */
const owner: { uid?: number; gid?: number } | undefined = process.getuid?.() === 0 ? findUser('postgres') : {}

export const hasCluster = requireProgram(
  programs !== undefined && owner !== undefined,
  'the tests with a PostgreSQL that fails',
  'no programs of a PostgreSQL server, or no user postgres to run it as',
)

/** The folder with `postgres` and `initdb`: beside pg_config, in the PATH, or where Debian keeps every version. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const configured = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim()
  const folders = [
    ...(configured ? [configured] : []),
    ...(process.env.PATH ?? '').split(':'),
    ...versions.map((version) => join(debian, version, 'bin')),
  ]
  return folders.find((folder) =>
    ['postgres', 'initdb', 'pg_basebackup'].every((name) => existsSync(join(folder, name))),
  )
}

function findUser(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** A PostgreSQL server in a separate folder, which can crash, freeze, stop and restart on the same port. */
export class Cluster {
  readonly port: number
  readonly #folder: string
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.port = port
  }

  /** Makes an empty server and starts it. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
    const cluster = new Cluster(makeFolder(), await findFreePort())
    run('initdb', ['-D', cluster.#data, '-U', 'mahi', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'])
    // A crash is only a test of what survives it where commits are flushed: fsync stays on.
    cluster.configure({
      max_connections: '60',
      shared_buffers: '32MB',
      log_min_messages: 'fatal',
      ...settings,
    })
    await cluster.start()
    return cluster
  }

  /** Makes a standby that streams from this server, and starts it. */
  async startStandby(): Promise<Cluster> {
    const standby = new Cluster(makeFolder(), await findFreePort())
    const source = ['-d', `host=127.0.0.1 port=${this.port} user=mahi`]
    run('pg_basebackup', [...source, '-D', standby.#data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
    standby.configure({})
    await standby.start()
    return standby
  }

  /** Of its files, its socket and its log. */
  get folder(): string {
    return this.#folder
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** Runs a program as the user of the server, who owns its files; answers what it prints. */
  runAsOwner(program: string, parameters: readonly string[]): string {
    return execFileSync(program, parameters, { ...owner, cwd: this.#folder, encoding: 'utf8', stdio: 'pipe' })
  }

  /** Makes a folder of the server's user beside its data. */
  makeFolder(name: string): string {
    const path = join(this.#folder, name)
    mkdirSync(path)
    giveToOwner(path)
    return path
  }

  /** Settings that hold from the next start on. */
  configure(settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
    appendFileSync(join(this.#data, 'postgresql.conf'), lines.join(''))
  }

  /** Asks users for a password from now on, but for the one who made the server. */
  async requirePasswords(): Promise<void> {
    const path = join(this.#data, 'pg_hba.conf')
    const rules = readFileSync(path, 'utf8').replaceAll(
      /^(host\s+all\s+)all(\s+\S+\s+)trust$/gm,
      '$1mahi$2trust',
    )
    rmSync(path)
    appendFileSync(path, `${rules}\nhost all all 127.0.0.1/32 scram-sha-256\n`)
    giveToOwner(path)
    await this.query('select pg_reload_conf()')
  }

  /** The address of a database, by a port of the caller's choice where it goes through a proxy. */
  url(database: string, port = this.port): string {
    return `postgres://mahi@127.0.0.1:${port}/${database}`
  }

  /** Makes an empty database and answers its address. */
  async createDatabase(name: string): Promise<string> {
    // A test that is tried again creates its database again.
    await this.query(`drop database if exists ${name} with (force)`)
    await this.query(`create database ${name}`)
    return this.url(name)
  }

  /** Runs one statement as the owner of everything. */
  async query<Row>(sql: string, database = 'postgres'): Promise<Row[]> {
    return await this.session(async (client) => (await client.query(sql)).rows as Row[], database)
  }

  /** Runs statements on one connection. */
  async session<T>(work: (client: pg.Client) => Promise<T>, database = 'postgres'): Promise<T> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 2_000 })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** Starts the server and waits until it answers, after a crash as well. */
  async start(): Promise<void> {
    const log = openSync(join(this.#folder, 'log'), 'a')
    const at = ['-c', `port=${this.port}`, '-c', 'listen_addresses=127.0.0.1', '-k', this.#folder]
    const child = spawn(join(programs ?? '', 'postgres'), ['-D', this.#data, ...at], {
      ...owner,
      cwd: this.#folder,
      stdio: ['ignore', log, log],
    })
    this.#process = child
    running.add(this)
    const deadline = Date.now() + DEADLINE
    while (!(await this.query('select 1').then(Boolean, () => false))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`the server does not start: ${readFileSync(join(this.#folder, 'log'), 'utf8')}`)
      }
      await sleep(20)
    }
  }

  /** Ends every process of the server at once, as a power cut does: nothing is flushed and nobody is told. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child?.pid === undefined || hasEnded(child)) return
    const exit = once(child, 'exit')
    // It makes no more of them while it stands still.
    child.kill('SIGSTOP')
    const others = listProcesses().flatMap(({ pid, parent }) => (parent === child.pid ? [pid] : []))
    for (const pid of [...others, child.pid]) process.kill(pid, 'SIGKILL')
    await exit
    // Its memory is only free for the next start once all have let go of it.
    while (listProcesses().some(({ pid, state }) => others.includes(pid) && state !== 'Z')) await sleep(10)
  }

  /** Stops it in order: it ends its connections and flushes. */
  async stop(): Promise<void> {
    const child = this.#process
    if (child === undefined || hasEnded(child)) return
    const exit = once(child, 'exit')
    child.kill('SIGINT')
    await exit
  }

  /** Ends it and takes its folder away. */
  async remove(): Promise<void> {
    await this.kill()
    running.delete(this)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Makes a standby a primary, which takes writes from then on. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)')
  }
}

/** Servers that would outlive a test run which is cut short. */
const running = new Set<Cluster>()
process.once('exit', () => {
  for (const cluster of running) void cluster.kill()
})

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-cluster-'))
  giveToOwner(folder)
  return folder
}

function giveToOwner(path: string): void {
  if (owner?.uid !== undefined && owner.gid !== undefined) chownSync(path, owner.uid, owner.gid)
}

function run(program: string, parameters: readonly string[]): void {
  const options = { ...owner, cwd: tmpdir(), stdio: ['ignore', 'ignore', 'pipe'] as const }
  execFileSync(join(programs ?? '', program), parameters, { ...options, stdio: [...options.stdio] })
}

function listProcesses(): { pid: number; parent: number; state: string }[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), state: state.slice(0, 1) }
  })
}
