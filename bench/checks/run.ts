// Measures checks beside other libraries on the same files, each in a process of its own:
//   npm install --prefix bench/peers/checks
//   node bench/checks/run.ts [--enrolments 50000] [--faulty 0.01] [--rounds 3] [--only NAME]
// CPU seconds are those of the fastest round; the ratios compare them within one run.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ALLOCATOR } from '../../src/foundation/command-line/memory.ts'
import { YOUNG } from '../../src/foundation/jobs/child.ts'
import { buildMahi } from '../mahi.ts'

const { values } = parseArgs({
  options: {
    enrolments: { type: 'string', default: '50000' },
    faulty: { type: 'string', default: '0.01' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true },
  },
})

interface Measured {
  readonly cpuSeconds: number
  readonly seconds: number
  readonly rssMb: number
  readonly records: number
  readonly findings: number
}

const NAMES = [
  'papaparse',
  // The command with both of its processes; the memory of neither is known here.
  'mahi check',
  'mahi, complete',
  'mahi, fields only',
  'csv-parse with ajv',
  'DuckDB',
].filter((name) => values.only === undefined || values.only.includes(name) || name === 'papaparse')
const program = fileURLToPath(new URL('program.ts', import.meta.url))
const generator = fileURLToPath(new URL('../../test/support/sdr/generate.ts', import.meta.url))

if (NAMES.includes('mahi check')) buildMahi()
const folder = mkdtempSync(join(tmpdir(), 'mahi-bench-checks-'))
try {
  const size = ['--enrolments', values.enrolments, '--faulty', values.faulty]
  execFileSync(process.execPath, [generator, '--to', folder, ...size], { stdio: 'ignore' })
  const best = new Map<string, Measured>()
  // Round by round, so that a busy moment does not concern one program alone.
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of NAMES) {
      const measured = measure(name)
      const before = best.get(name)
      if (before === undefined || measured.cpuSeconds < before.cpuSeconds) best.set(name, measured)
    }
  }
  print(best)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function measure(name: string): Measured {
  // With the settings of memory that the process of a check has.
  const text = execFileSync(process.execPath, [YOUNG, program, name, folder], {
    encoding: 'utf8',
    env: { ...process.env, ...ALLOCATOR },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Measured
}

function print(best: ReadonlyMap<string, Measured>): void {
  const floor = best.get('papaparse')?.cpuSeconds ?? Number.NaN
  process.stdout.write(
    '| program | CPU s | of bare papaparse | wall s | memory MB | findings |\n|---|--:|--:|--:|--:|--:|\n',
  )
  for (const [name, { cpuSeconds, seconds, rssMb, findings }] of best) {
    const cells = [
      cpuSeconds.toFixed(2),
      (cpuSeconds / floor).toFixed(1),
      seconds.toFixed(2),
      name === 'mahi check' ? '' : rssMb,
      findings,
    ]
    process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`)
  }
  const load = loadavg().map((each) => each.toFixed(1))
  process.stdout.write(`\n${values.enrolments} enrolments, load average ${load.join(', ')}\n`)
}
