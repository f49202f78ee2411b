import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { endWithParent } from './end-with-parent.ts'

const run = promisify(execFile)

/** A server under test, in a process of its own. */
export interface Contender {
  readonly name: string
  readonly url: string
  readonly pid: number
  /** Stops it, if it still runs, and returns its exit status. */
  stop(): Promise<number | null>
}

export interface Load {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly seconds: number
  readonly connections: number
  /** A script of wrk's and its arguments, for more than one address. */
  readonly script?: string
  readonly arguments?: readonly string[]
}

export interface Measurement {
  readonly requestsPerSecond: number
  /** Milliseconds. */
  readonly p99: number
  /** Microseconds of the server's processor time for each request. */
  readonly cpuPerRequest: number
  readonly errors: number
  /** The largest resident size of the server so far, in MB. */
  readonly peakMemory: number
}

/**
 * Starts a program that prints `Listening on URL`, or Mahi's own line, once it is ready.
 *
 * @param onLine gets every line of its output, which is always read to the end, so that it never blocks the server
 */
export async function startContender(
  name: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  folder?: string,
  onLine: (line: string) => void = () => undefined,
): Promise<Contender> {
  const [program = process.execPath, ...rest] = command
  const child = spawn(program, rest, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
  })
  endWithParent(child)
  const url = await new Promise<string>((resolve, reject) => {
    let last = ''
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${last}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      last = line
      const found = /(?:Listening on|Server listening at) (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
      onLine(line)
    })
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${name} has no process`)
  return {
    name,
    url,
    pid,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      return child.exitCode
    },
  }
}

/** Ends the program, with a sentence, unless other programs that it needs are installed. */
export function assertPrograms(...names: readonly string[]): void {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const missing = names.filter((name) => !folders.some((folder) => existsSync(join(folder, name))))
  if (missing.length === 0) return
  process.stderr.write(
    `This needs ${missing.join(' and ')}: install it, such as with "apt-get install ${missing.join(' ')}".\n`,
  )
  process.exit(2)
}

/** Drives a contender for some seconds with keep-alive connections, by wrk, which must be installed. */
export async function measure(contender: Contender, load: Load): Promise<Measurement> {
  const before = processorSeconds(contender.pid)
  const result = await runWrk(contender, load)
  const used = processorSeconds(contender.pid) - before
  return {
    requestsPerSecond: result.requests / result.seconds,
    p99: result.p99,
    cpuPerRequest: (used * 1e6) / Math.max(1, result.requests),
    errors: result.errors,
    peakMemory: peakMemory(contender.pid),
  }
}

interface Raw {
  requests: number
  seconds: number
  p99: number
  errors: number
}

async function runWrk({ url }: Contender, load: Load): Promise<Raw> {
  const { path, headers = {}, seconds, connections, script } = load
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const { stdout } = await run('wrk', [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    ...flags,
    ...(script === undefined ? [] : ['-s', script]),
    url + path,
    ...(load.arguments === undefined ? [] : ['--', ...load.arguments]),
  ])
  const [, requests, time] = /(\d+) requests in ([\d.]+)s/.exec(stdout) ?? []
  const [, p99, unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout) ?? []
  const failures = [
    ...stdout.matchAll(/Non-2xx or 3xx responses: (\d+)|(?:connect|read|write|timeout) (\d+)/g),
  ]
  return {
    requests: Number(requests),
    seconds: Number(time),
    p99: Number(p99) * (unit === 'us' ? 0.001 : unit === 's' ? 1000 : 1),
    errors: failures.reduce((sum, match) => sum + Number(match[1] ?? match[2]), 0),
  }
}

/**
 * Processor time of all threads of a process (Linux: the first field of schedstat, in nanoseconds). The fields of stat
 * count ticks of 10 ms.
 */
export function processorSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return (
    threads.reduce((sum, thread) => sum + nanosecondsOf(`/proc/${pid}/task/${thread}/schedstat`), 0) / 1e9
  )
}

function nanosecondsOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ', 1)[0])
  } catch {
    // The thread has ended.
    return 0
  }
}

/** The largest resident size so far, in MB. */
export const peakMemory = (pid: number): number => readStatus(pid, 'VmHWM') / 1024

/** Memory of the process without the pages of files that are mapped into it, in MB. */
export const ownMemory = (pid: number): number => readStatus(pid, 'RssAnon') / 1024

/** A number in KB (Linux: proc(5), status); 0 of a process that has ended. */
export function readStatus(pid: number, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** The processes that a process has started and that still run, and those that they have started. */
export function childrenOf(pid: number): number[] {
  try {
    const own = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
    return own.flatMap((child) => [child, ...childrenOf(child)])
  } catch {
    return []
  }
}

/** The middle of some figures. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Above this load average, something else is running, and times mean little. */
const MOST_LOAD = 1.5

/** Ends the program if the machine is busy: what is measured then must not be written down. */
export function assertIdle(what: string): void {
  const [load = 0] = loadavg()
  if (load <= MOST_LOAD) return
  process.stderr.write(
    `The load average is ${load.toFixed(1)}: the machine is busy. ${what} is written only at ${MOST_LOAD} or below. Wait until it is idle.\n`,
  )
  process.exit(1)
}
