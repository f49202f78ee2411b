import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'

/**
 * Settings of the C library: without them it keeps freed memory, in each thread that compresses and between large buffers.
 * Buffers up to the threshold of 512 KiB, such as those of pages, stay in its heap: measured, a page of 100 records
 * takes 1.5 times the processor time with 128 KiB, because each buffer is mapped, filled page by page and unmapped.
 */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const

/** The part of the memory that V8 may use: responses and uploads are outside its heap. */
const HEAP = 7 / 16

/**
 * Pages are read into memory outside the heap, and a small young generation releases it sooner. It has its whole size
 * from the start: V8 begins with 1 MB and may stay there, and then collects so often that much is kept which a moment
 * later nobody needs. Measured on two cores: a page in brotli from memory 34,900 and 45,500 requests a second, a 304
 * 48,500 and 61,600; uncompressed pages, pages from SQLite and searches the same.
 */
const YOUNG = ['--max-semi-space-size=8', '--min-semi-space-size=8']

/**
 * The old generation may double before V8 collects it. Left to itself, V8 could come to collect it ten times a second in
 * a service that reads many pages from a database, and did not stop: a page then cost twice as much. Measured in such a
 * process, 4,540 pages a second, and 7,130 once it had this setting.
 */
const GROWTH = '--heap-growing-percent=100'

/** The least that MEMORY_MB may be: V8 ends with a segmentation fault where its heap has only a few megabytes. */
export const LEAST_MEMORY_MB = 128

type Environment = Readonly<Record<string, string | undefined>>

export interface Launch {
  /** Options of Node. */
  readonly flags: readonly string[]
  readonly environment: Environment
}

/**
 * How to start a server or a worker so that it keeps within MEMORY_MB. What somebody has set stays.
 *
 * @param flags the options of Node that are given, beside those in `NODE_OPTIONS`
 */
export function planLaunch(environment: Environment, flags: readonly string[] = []): Launch {
  const given = [...flags, ...(environment.NODE_OPTIONS ?? '').split(' ')]
  const isGiven = (flag: string) =>
    given.some((each) => each.replaceAll('_', '-').startsWith(flag.replace(/=.*/, '')))
  // A setting that is refused changes nothing: the process has to live long enough to say so.
  const set = /^\s*\d{1,7}\s*$/.test(environment.MEMORY_MB ?? '') ? Number(environment.MEMORY_MB) : 0
  const memory = set >= LEAST_MEMORY_MB ? set : readContainerLimit()
  const wanted = [
    // One of the two alone could contradict the other.
    ...(YOUNG.some(isGiven) ? [] : YOUNG),
    ...(memory === undefined ? [] : [`--max-old-space-size=${Math.floor(memory * HEAP)}`]),
  ]
  return {
    flags: [...flags, ...wanted.filter((flag) => !isGiven(flag))],
    environment: { ...(process.platform === 'linux' && ALLOCATOR), ...environment },
  }
}

/** The memory that the container allows, in megabytes; `undefined` if there is no limit. */
export function readContainerLimit(): number | undefined {
  const bytes = process.constrainedMemory()
  // Without a limit, some systems report 0 and others a number that no machine has.
  return bytes > 0 && bytes < totalmem() ? Math.floor(bytes / 2 ** 20) : undefined
}

/**
 * Replaces this process by one that was started so, unless it was. It keeps its number and its streams, so signals and
 * the exit code are those of the program. Where the system cannot replace a process, it stays as it is.
 */
export function limitMemory(): void {
  // At run time: Node does not start with an option that its V8 does not know.
  setFlagsFromString(GROWTH)
  const { flags, environment } = planLaunch(process.env, process.execArgv)
  const isSame =
    flags.length === process.execArgv.length &&
    Object.keys(environment).every((name) => process.env[name] !== undefined)
  // A parent that has a channel to this process would lose it.
  if (isSame || process.send !== undefined) return
  if (process.execve === undefined || process.platform === 'win32') return
  process.execve(
    process.execPath,
    [process.execPath, ...flags, ...process.argv.slice(1)],
    Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value ?? ''])),
  )
}
