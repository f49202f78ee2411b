import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Run, report } from '../compare.ts'
import { script } from '../mahi.ts'
import { median } from '../measure.ts'

const execute = promisify(execFile)

/** An import and a publish beside a bare loop of the driver, each in a process of its own and a new file. */
export async function benchStoring(run: Run): Promise<void> {
  const counts = { import: run.quick ? 10_000 : 100_000, publish: run.quick ? 100_000 : 1_000_000 }
  for (const kind of ['import', 'publish'] as const) {
    const seconds: Record<string, number[]> = {}
    let memory = 0
    const rounds = Math.min(3, run.rounds)
    for (let round = 0; round < rounds; round++) {
      for (const each of [`generate-${kind}`, `bare-${kind}`, kind]) {
        const file = `${run.folder}storing.db`
        for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
        const program = [script('storing.ts'), each, String(counts[kind]), file]
        const { stdout } = await execute(process.execPath, program)
        const result = JSON.parse(stdout) as { seconds: number; peakMemory: number }
        seconds[each] = [...(seconds[each] ?? []), result.seconds]
        if (each === kind) memory = Math.max(memory, result.peakMemory)
      }
    }
    // What making the input costs is taken off both sides.
    const timeOf = (each: string) =>
      Array.from(
        { length: rounds },
        (_, round) =>
          (seconds[each]?.[round] ?? Number.NaN) - (seconds[`generate-${kind}`]?.[round] ?? Number.NaN),
      )
    const [own, bare] = [timeOf(kind), timeOf(`bare-${kind}`)]
    report(run, {
      suite: 'storing',
      figure: `${kind} of ${counts[kind].toLocaleString('en')} into SQLite`,
      values: {
        'rows/s': Math.round(counts[kind] / median(own)),
        'bare loop, rows/s': Math.round(counts[kind] / median(bare)),
        ratio: median(own.map((time, round) => (bare[round] ?? Number.NaN) / time)),
        'peak memory, MB': memory,
      },
    })
  }
}
