import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { Installation } from '../support/command.ts'
import { type Attempt, Attempts, type Left } from '../support/cut-commands.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { Random } from '../support/random.ts'
import { readState, type State } from '../support/state.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const CUTS = Number(process.env.MAHI_TEST_KILLS ?? '6')
const SEED = Number(process.env.MAHI_TEST_SEED ?? '1')
const SIZES = CUTS < 50 ? { records: 400, entries: 2000 } : { records: 2500, entries: 15_000 }
const LONG = { timeout: 600_000 + CUTS * 15_000 }
if (CUTS < 200) {
  process.stderr.write(
    `REDUCED: ${CUTS} torn copies of a database instead of 200: npm run test:long -- cuts makes them all\n`,
  )
}

/** What a disk writes whole, in bytes, at the least. */
const SECTOR = 512

/** Copies that are torn in different ways, of each moment at which the power goes. */
const TEARS = 4

const testTorn = testWhere(
  process.platform === 'linux',
  'torn files: only /proc shows when a process stands still',
)

/** The files of a database at one moment. */
interface Files {
  readonly main: Buffer
  /** Absent where nothing has been written yet, or everything has been moved over. */
  readonly log: Buffer | undefined
}

function copyFiles(path: string): Files {
  return {
    main: readFileSync(path),
    log: existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : undefined,
  }
}

/**
 * Takes away what need not have reached the disk, as a power cut may. The log is synchronised when a transaction
 * commits, and before anything of it is moved to the main file. So as long as the main file is the old one, any part
 * of the log may be missing; afterwards the log is there, and any part of what is being moved may be missing.
 */
function tear(main: Buffer, log: Buffer, old: Files, random: Random): Files & { how: string } {
  if (main.equals(old.main)) {
    if (random.chance(0.5))
      return { main, log: log.subarray(0, random.below(log.length)), how: 'cut the log off' }
    return { main, log: loseSectors(log, undefined, random), how: 'lost parts of the log' }
  }
  return { main: loseSectors(main, old.main, random), log, how: 'lost parts of the main file' }
}

/** The bytes with some of the sectors that are new as they were before: nothing but zeros where there were none. */
function loseSectors(bytes: Buffer, before: Buffer | undefined, random: Random): Buffer {
  const torn = Buffer.from(bytes)
  for (let start = 0; start < torn.length; start += SECTOR) {
    if (!random.chance(0.3)) continue
    const end = Math.min(start + SECTOR, torn.length)
    torn.fill(0, start, end)
    if (before !== undefined && start < before.length)
      before.copy(torn, start, start, Math.min(end, before.length))
  }
  return torn
}

/** Stops a command and the process that builds its index, and waits until they stand still; answers which they are. */
async function stopAll(pid: number): Promise<readonly number[]> {
  await stop(pid)
  // It starts no more of them while it stands still.
  const list = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean).map(Number) : []
  for (const child of children) await stop(child)
  return [pid, ...children]
}

/** Sends a signal to a process, which may have ended meanwhile. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function stop(pid: number): Promise<void> {
  signal(pid, 'SIGSTOP')
  const state = () => {
    try {
      return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? 'Z'
    } catch {
      return 'Z'
    }
  }
  while (!['T', 'Z', 'X'].includes(state())) await sleep(1)
}

testTorn(
  `${CUTS} torn copies of a database that is written to are each the old state or the new one, whole`,
  LONG,
  async () => {
    const mahi = new Installation({ inProcesses: true })
    const random = new Random(SEED)
    const attempts = new Attempts(mahi.folder, random, SIZES)
    const folder = temporaryFolder()
    const path = join(folder, 'mahi.db')
    const url = `sqlite:${path}`
    await fillDatabase(url, SIZES.records)
    const first = attempts.make('import', await withDatabase(url, readState))
    expect(await mahi.run(first.parameters, { environment: { DATABASE_URL: url } })).toMatchObject({
      code: 0,
    })
    const before = await withDatabase(url, readState)
    const old = copyFiles(path)
    expect(old.log).toBeUndefined()

    const counts = new Map<string, Record<Left, number>>()
    const durations: Record<string, number> = {}
    for (let made = 0, round = 0; made < CUTS; round++) {
      const command = round % 2 === 0 ? 'import' : 'publish'
      const attempt = attempts.make(command, before)
      for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true })
      writeFileSync(path, old.main)
      const written = statSync(path).mtimeMs
      const begun = performance.now()
      const running = mahi.start(attempt.parameters, { environment: { DATABASE_URL: url } })
      const duration = durations[command]
      if (duration === undefined) {
        expect(await running.ended).toMatchObject({ code: 0 })
        durations[command] = performance.now() - begun
        continue
      }
      if (random.chance(0.4)) {
        // What is in the log is being moved over: a moment that chance rarely finds.
        while (running.child.exitCode === null && statSync(path).mtimeMs === written) await sleep(1)
      } else {
        // The first half of the time goes by before anything is written.
        await sleep((0.4 + random.fraction() * 0.7) * duration)
      }
      const { pid, exitCode } = running.child
      const stopped = pid === undefined || exitCode !== null ? [] : await stopAll(pid)
      const files = copyFiles(path)
      const shared = existsSync(`${path}-shm`) && random.chance(0.5) ? readFileSync(`${path}-shm`) : undefined
      for (const each of stopped) signal(each, 'SIGKILL')
      const outcome = await running.ended
      if (files.log === undefined) continue
      for (let copy = 0; copy < TEARS && made < CUTS; copy++, made++) {
        const torn = tear(files.main, files.log, old, random)
        const left = await judgeCopy(torn, shared, before, attempt, outcome)
        const line = counts.get(torn.how) ?? { old: 0, new: 0 }
        counts.set(torn.how, line)
        line[left]++
      }
    }
    const lines = [...counts].map(([how, left]) => `  ${how}: ${left.old} old, ${left.new} new\n`)
    process.stderr.write(`torn SQLite files, seed ${SEED}: ${CUTS} copies\n${lines.join('')}`)
  },
)

/** Opens the files as the next start finds them. */
async function judgeCopy(
  { main, log }: Files,
  shared: Buffer | undefined,
  before: State,
  attempt: Attempt,
  outcome: Parameters<Attempt['judge']>[2],
): Promise<Left> {
  const folder = temporaryFolder()
  const path = join(folder, 'mahi.db')
  writeFileSync(path, main)
  if (log !== undefined) writeFileSync(`${path}-wal`, log)
  if (shared !== undefined) writeFileSync(`${path}-shm`, shared)
  const after = await withDatabase(`sqlite:${path}`, async (database) => {
    const [check] = await database.all<{ integrity_check: string }>('pragma integrity_check')
    expect(check).toEqual({ integrity_check: 'ok' })
    return await readState(database)
  })
  const left = attempt.judge(before, after, outcome)
  if (attempt.acknowledged(outcome)) expect(left).toBe('new')
  rmSync(folder, { recursive: true })
  return left
}
