import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A server under test, in a process of its own. */
export interface Contender {
  readonly name: string
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
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

/** Starts a program that prints `Listening on URL`, or Mahi's own line, once it is ready. */
export async function startContender(
  name: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  folder?: string,
): Promise<Contender> {
  const [program = process.execPath, ...rest] = command
  const child: ChildProcess = spawn(program, rest, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
  })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${text}`)))
    child.stdout?.on('data', (chunk: Buffer) => {
      // Read to the end, so that the server's log never blocks it.
      if (text.length > 10_000) return
      text += chunk
      const found = /(?:Listening on|Server listening at) (http:\/\/[\d.]+:\d+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`${name} has no process`)
  return {
    name,
    url,
    pid,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

/** Drives a contender for some seconds with keep-alive connections. */
export async function measure(contender: Contender, load: Load): Promise<Measurement> {
  const before = processorSeconds(contender.pid)
  const result = (await hasWrk) ? await runWrk(contender, load) : await runAutocannon(contender, load)
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

const hasWrk = run('wrk', ['--version']).then(
  () => true,
  // wrk prints its version and exits with 1.
  (error: { code?: unknown }) => error.code !== 'ENOENT',
)

/** Which load generator this run uses. */
export async function nameGenerator(): Promise<string> {
  return (await hasWrk) ? 'wrk, one thread' : 'autocannon'
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

async function runAutocannon(
  { url }: Contender,
  { path, headers = {}, seconds, connections }: Load,
): Promise<Raw> {
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const { stdout } = await run(
    'npx',
    ['autocannon', '--json', '-c', String(connections), '-d', String(seconds), ...flags, url + path],
    { maxBuffer: 64 * 1024 * 1024 },
  )
  const result = JSON.parse(stdout) as {
    requests: { total: number }
    duration: number
    latency: { p99: number }
    errors: number
    non2xx: number
    '3xx': number
  }
  return {
    requests: result.requests.total,
    seconds: result.duration,
    p99: result.latency.p99,
    errors: result.errors + result.non2xx - result['3xx'],
  }
}

const TICKS_PER_SECOND = 100

/** User and system time of a process (Linux: proc(5), fields 14 and 15 of stat). */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** The largest resident size so far, in MB. */
export function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** What a process holds by itself now, in MB: without the pages of files that are mapped into it. */
export function ownMemory(pid: number): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** The middle of some figures. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}
