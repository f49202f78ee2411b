import { type ChildProcess, fork, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ALLOCATOR } from '../command-line/memory.ts'

/** How often a child is watched, in milliseconds. */
const WATCH_MS = 200

/** With less memory, Node does not start, in megabytes. */
const LEAST_MEMORY = 64

/** Nearly all objects of such jobs are short-lived, so a larger young generation would only hold more garbage. */
export const YOUNG = '--max-semi-space-size=4'

/** The most characters of standard error that are kept. */
const MOST_COMPLAINT = 4_000

/** How a child ended that had not delivered a result. */
export interface ChildEnd {
  /** Whether it ran out of the memory that it may use. */
  readonly outOfMemory: boolean
  /** The signal that ended it. */
  readonly by: NodeJS.Signals | null
  /** Its exit code or signal, and the end of what it wrote to standard error. */
  readonly description: string
}

/** Delivers the result of a child, once: the child is then ended. */
interface Settle<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

export interface ChildOptions<Message, Result> {
  /** Its first module, from `entryOf`. */
  readonly entry: string
  readonly memoryBytes: number
  readonly environment: NodeJS.ProcessEnv
  /** Whether messages contain values that JSON cannot represent. */
  readonly advanced?: boolean
  readonly signal?: AbortSignal | undefined
  /** Prepares the message that it begins with, while it starts. */
  order(): Promise<object>
  onMessage(message: Message, settle: Settle<Result>): void
  /** Called some times a second; what it throws ends the child. */
  watch?(pid: number): void
  /** The result, or what to throw, if it ends without one. */
  onEnd(end: ChildEnd, settle: Settle<Result>): void
}

/** The path of a module that runs in a child: the sources run directly, the package contains compiled files. */
export function entryOf(name: string, { url }: ImportMeta): string {
  return fileURLToPath(new URL(`./${name}.${url.endsWith('.ts') ? 'ts' : 'js'}`, url))
}

/**
 * Runs a job in a child process with a limit of memory. The child never outlives the call.
 *
 * @throws the reason of the signal if it is aborted, what `order` or `watch` throws, or what it is rejected with
 */
export async function runInChild<Message, Result>(options: ChildOptions<Message, Result>): Promise<Result> {
  options.signal?.throwIfAborted()
  const megabytes = Math.max(LEAST_MEMORY, Math.ceil(options.memoryBytes / 2 ** 20))
  const child = fork(options.entry, [], {
    execArgv: [`--max-old-space-size=${megabytes}`, YOUNG],
    env: { ...ALLOCATOR, ...options.environment },
    serialization: options.advanced === true ? 'advanced' : 'json',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  try {
    return await waitForResult(child, options)
  } finally {
    await endChild(child, 'SIGKILL')
  }
}

function waitForResult<Message, Result>(
  child: ChildProcess,
  { signal, order, onMessage, watch, onEnd }: ChildOptions<Message, Result>,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const settle = { resolve, reject }
  let complaint = ''
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const timer = setInterval(() => {
    try {
      watch?.(child.pid ?? 0)
    } catch (error) {
      reject(error)
    }
  }, WATCH_MS)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MOST_COMPLAINT)
  })
  child.on('message', (message) => onMessage(message as Message, settle))
  child.once('error', reject)
  child.once('close', (code, by) => {
    const outOfMemory = /out of memory|Array buffer allocation failed/.test(complaint)
    onEnd({ outOfMemory, by, description: `${by ?? code}: ${complaint}` }, settle)
  })
  order().then(
    (message) =>
      child.send(message as Serializable, (error) => {
        if (error !== null) reject(error)
      }),
    reject,
  )
  return promise.finally(() => {
    clearInterval(timer)
    signal?.removeEventListener('abort', abort)
  })
}

/**
 * Ends a child process if it still runs, and waits for its exit: its files can be deleted only then.
 *
 * @param patience milliseconds after which it is killed
 */
export async function endChild(
  child: ChildProcess,
  signal: NodeJS.Signals,
  patience?: number,
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const timer = patience === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), patience)
  await ended
  clearTimeout(timer)
}
