import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { createKey, type NewKey } from '../../src/api/access/keys.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { findFreePort } from './free-port.ts'
import { exportText, withDatabase } from './opened.ts'
import { sourceOf } from './source.ts'
import { readStored } from './stored-findings.ts'
import { temporaryDatabaseUrl, temporaryFolder } from './temporary.ts'

export const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))

/** A bound of waiting, in milliseconds: far longer than anything takes on the slowest machine. */
export const DEADLINE = 240_000

export interface Outcome {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Standard input: a text, or a stream that is piped; without it there is none. */
  readonly input?: string | Buffer | Readable
  readonly environment?: Readonly<Record<string, string>>
  /** The user and the group to run as, by number; only root may choose. */
  readonly user?: number
}

/** The command that has begun last in this process: they share it, so one waits for the other. */
let last: Promise<unknown> = Promise.resolve()

/**
 * A folder and a database of their own, for one test, and commands that run in them: by default in this process, because
 * a process of its own takes most of the time of a short command to load the program. Tests of signals, pipes, users and
 * memory want processes.
 */
export class Installation {
  readonly folder = temporaryFolder()
  readonly databaseUrl = temporaryDatabaseUrl()
  readonly #inProcesses: boolean

  constructor({ inProcesses = false }: { readonly inProcesses?: boolean } = {}) {
    this.#inProcesses = inProcesses
  }

  /** Runs a command to its end. */
  async run(parameters: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    if (this.#inProcesses || options.user !== undefined) return await this.start(parameters, options).ended
    const turn = last.then(() => this.#runHere(parameters, options))
    last = turn.catch(() => undefined)
    return await turn
  }

  async #runHere(parameters: readonly string[], { input, environment }: RunOptions): Promise<Outcome> {
    const written = { stdout: '', stderr: '' }
    const restore = [
      setEnvironment(this.environment(environment)),
      setFolder(this.folder),
      setInput(input),
      gather('stdout', written),
      gather('stderr', written),
    ]
    process.exitCode = undefined
    try {
      const { runProgram } = await import('../../src/cli.ts')
      await runProgram(parameters)
      return { code: Number(process.exitCode ?? 0), signal: null, ...written }
    } finally {
      process.exitCode = undefined
      for (const each of restore) each()
    }
  }

  /** Runs a command that has to succeed, and reads the JSON object that it prints. */
  async runJson(parameters: readonly string[], options: RunOptions = {}): Promise<unknown> {
    const { code, stdout, stderr } = await this.run([...parameters, '--json'], options)
    if (code !== 0) throw new Error(`mahi ${parameters.join(' ')} ended with ${code}: ${stdout}${stderr}`)
    return JSON.parse(stdout)
  }

  /** Starts a command; it is killed when the test ends. */
  start(parameters: readonly string[], options: RunOptions = {}): RunningCommand {
    return this.spawn(process.execPath, [MAHI, ...parameters], options)
  }

  /** Starts any program with the environment of a command. */
  spawn(
    program: string,
    parameters: readonly string[],
    { input, environment, user }: RunOptions = {},
  ): RunningCommand {
    const child = spawn(program, parameters, {
      cwd: this.folder,
      ...(user !== undefined && { uid: user, gid: user }),
      env: this.environment(environment),
    })
    if (child.stdin !== null) {
      // A command that has found a fault stops reading.
      child.stdin.on('error', () => undefined)
      if (input instanceof Readable) input.pipe(child.stdin)
      else child.stdin.end(input)
    }
    return new RunningCommand(child)
  }

  /** The environment of a command. */
  protected environment(given: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    return {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      DATABASE_URL: this.databaseUrl,
      METRICS_PORT: '0',
      WORKERS: '0',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      ...given,
    }
  }

  /** Starts a server on a free port and waits until it listens. */
  async serve(
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ command: RunningCommand; url: string }> {
    const command = this.start(['serve'], { environment })
    const [url] = await command.output(/http:\/\/127\.0\.0\.1:\d+/)
    return { command, url }
  }

  /** Starts a server whose metrics can be read, as Prometheus does. */
  async serveWithMetrics(environment: Readonly<Record<string, string>> = {}) {
    const settings = { ...environment, METRICS_PORT: `${await findFreePort()}` }
    const served = await this.serve(settings)
    const readMetrics = async () =>
      await (await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`)).text()
    /** The value of a series; not a number if there is none. */
    const metric = async (series: string) => {
      const value = (await readMetrics()).split('\n').find((line) => line.startsWith(`${series} `))
      return Number(value?.slice(series.length + 1))
    }
    return { ...served, settings, readMetrics, metric }
  }

  /** Makes the tables, without a command. */
  async migrate(): Promise<this> {
    await withDatabase(this.databaseUrl, async () => undefined)
    return this
  }

  /** Brings records into the catalogue, without a command. */
  async fill(records: readonly unknown[]): Promise<this> {
    await withDatabase(this.databaseUrl, (database) => importOccupations(database, sourceOf(records)))
    return this
  }

  /** Creates a key, without a command. */
  async createKey(options: Partial<NewKey>): Promise<string> {
    const whole = { client: 'test', expires: Date.now() + 86_400_000, ...options }
    const { key } = await withDatabase(this.databaseUrl, (database) => createKey(database, whole))
    return key
  }

  /** What the catalogue holds, word for word, without a command. */
  async catalogue(): Promise<string> {
    return await withDatabase(this.databaseUrl, exportText)
  }

  /** The entries of a submission's current run, in their order, without a command. */
  async results(token: string): Promise<unknown[]> {
    return await withDatabase(this.databaseUrl, async (database) => {
      const row = await database.get<{ run: number }>('select run from submission where token = $1', [token])
      const documents = (await readStored(database)).get(row?.run ?? 0) ?? []
      return documents.map((document) => JSON.parse(document))
    })
  }

  /** Waits until another process changes the catalogue, by having to wait for it. */
  async untilLocked(): Promise<void> {
    const database = await openDatabase(this.databaseUrl)
    let waits = false
    await until(async () => {
      const turn = database.write(
        'catalogue',
        async () => undefined,
        () => {
          waits = true
        },
      )
      // It is left waiting; the process that it waits for may also be killed.
      const ended = turn.then(() => true)
      while (!waits && !(await Promise.race([ended, sleep(10)])));
      if (!waits) return undefined
      onTestFinished(async () => {
        await ended.catch(() => undefined)
        await database.close()
      })
      return true
    })
  }

  /** Writes a file and answers its name. */
  write(name: string, content: string | Buffer): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return name
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }
}

/** Characters of what `output` waits for, at most. */
const LONGEST_MATCH = 64 * 1024

export class RunningCommand {
  readonly child: ChildProcess
  /** Settles when the process has ended and everything it wrote has been read. */
  readonly ended: Promise<Outcome>
  stdout = ''
  stderr = ''

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }),
      )
    })
    onTestFinished(async () => {
      this.kill('SIGKILL')
      await this.ended.catch(() => undefined)
    })
  }

  kill(signal: NodeJS.Signals): void {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal)
  }

  /** Asks it to stop; resolves to its exit status. */
  async stop(): Promise<number | null> {
    this.kill('SIGTERM')
    return (await this.ended).code
  }

  /** Waits until either output matches. Fails once there has been no more output for the usual time. */
  async output(pattern: RegExp): Promise<RegExpExecArray> {
    let deadline = Date.now() + DEADLINE
    const searched = { stdout: 0, stderr: 0 }
    for (;;) {
      for (const name of ['stdout', 'stderr'] as const) {
        const text = this[name]
        if (text.length === searched[name]) continue
        // Only what is new: a log can have megabytes, and grows while it is searched.
        const from = text.lastIndexOf('\n', searched[name] - LONGEST_MATCH) + 1
        searched[name] = text.length
        deadline = Date.now() + DEADLINE
        const match = pattern.exec(text.slice(from))
        if (match !== null) return match
      }
      const gone = this.child.exitCode !== null || this.child.signalCode !== null
      if (gone || Date.now() > deadline) {
        throw new Error(
          `${pattern} does not appear (${gone ? 'ended' : 'running'}): ${this.stdout}${this.stderr}`,
        )
      }
      await sleep(10)
    }
  }
}

/** What a check answers that has nothing to say yet. */
type NotYet = undefined | false

/** Waits until a check answers something. */
export async function until<T>(check: () => Promise<T | NotYet> | T | NotYet): Promise<T> {
  const deadline = Date.now() + DEADLINE
  for (;;) {
    const found = await check()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline) throw new Error('what was waited for did not happen')
    await sleep(10)
  }
}

/** Repeats an assertion until it holds, and returns what it returns. */
export async function untilHolds<T>(assertion: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + DEADLINE
  for (;;) {
    try {
      return await assertion()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await sleep(10)
  }
}

/** Asks a server; one that sheds load, on a machine with much to do, is asked again. */
export async function ask(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return await until(async () => {
    const response = await fetch(url, { headers })
    return response.status === 503 ? undefined : response
  })
}

/** NDJSON. */
export function toLines(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

function setEnvironment(environment: NodeJS.ProcessEnv): () => void {
  const before = { ...process.env }
  replaceEnvironment(environment)
  return () => replaceEnvironment(before)
}

/** Changes the object in place, because Node.js reads some of its values, such as TMPDIR, from the process itself. */
function replaceEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value
}

function setFolder(folder: string): () => void {
  const before = process.cwd()
  process.chdir(folder)
  return () => process.chdir(before)
}

function setInput(input: RunOptions['input']): () => void {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
  const value =
    input instanceof Readable ? input : Readable.from(input === undefined ? [] : [Buffer.from(input)])
  Object.defineProperty(process, 'stdin', { value, configurable: true })
  return () => void Object.defineProperty(process, 'stdin', before)
}

function gather(name: 'stdout' | 'stderr', written: Record<typeof name, string>): () => void {
  const stream = process[name]
  const { write } = stream
  stream.write = (text: string | Uint8Array, ...rest: unknown[]) => {
    written[name] += typeof text === 'string' ? text : Buffer.from(text).toString()
    const done = rest.at(-1)
    if (typeof done === 'function') setImmediate(() => done())
    return true
  }
  return () => {
    stream.write = write
  }
}
