// A long run: `npm run soak -- --minutes 30 --engine sqlite`. Prints a line for each window and a verdict; the exit
// status tells whether all of it holds.
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { isEngine } from '../bench/empty-database.ts'
import { findPostgres } from '../test/support/find-postgres.ts'
import { soak } from './soak/run.ts'
import { judgeAlways, judgeTrends, type Window } from './soak/verdict.ts'

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    engine: { type: 'string', default: 'sqlite' },
    /** A PostgreSQL in which a schema may be made; without it the one that the tests find. */
    postgres: { type: 'string' },
    /** Requests a second. */
    rate: { type: 'string', default: '300' },
    /** Where everything that was seen goes, as JSON. */
    output: { type: 'string' },
  },
})
/** The shortest run of which trends are judged, in minutes. */
const LEAST = 5
const minutes = Number(flags.minutes)
const rate = Number(flags.rate)
if (!isEngine(flags.engine)) throw new Error('--engine is sqlite or postgres')
if (!(minutes > 0 && rate > 0)) throw new Error('--minutes and --rate are numbers above 0')

const postgres = flags.postgres ?? (flags.engine === 'postgres' ? await findPostgres() : undefined)
print(
  `${flags.engine}, ${minutes} minutes, ${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.version}`,
)
print(
  ' minute  requests   p50 ms   p99 ms  memory MB  resident  heap MB  pages MB  handles  connections  database MB  WAL MB',
)
const run = await soak({ engine: flags.engine, postgres, minutes, rate, onWindow: printWindow })
// Trends show in minutes only, and on a machine that has nothing else to do.
const findings = [...judgeAlways(run), ...(minutes < LEAST ? [] : judgeTrends(run))]
for (const { rule, figure, holds } of findings) print(`${holds ? 'holds' : 'FAILS'}  ${rule}: ${figure}`)
if (flags.output !== undefined)
  writeFileSync(flags.output, `${JSON.stringify({ ...run, findings }, null, 2)}\n`)
process.exitCode = findings.every(({ holds }) => holds) ? 0 : 1

function printWindow(seen: Window): void {
  const mb = (bytes: number | undefined) => (bytes === undefined ? '-' : (bytes / 2 ** 20).toFixed(1))
  const cells: [string, number][] = [
    [seen.minute.toFixed(1), 7],
    [String(seen.requests), 10],
    [seen.p50.toFixed(2), 9],
    [seen.p99.toFixed(2), 9],
    [mb(seen.memory), 11],
    [mb(seen.resident), 10],
    [mb(seen.heap), 9],
    [mb(seen.pages), 10],
    [seen.handles.toFixed(0), 9],
    [seen.connections?.toFixed(0) ?? '-', 13],
    [mb(seen.database), 13],
    [mb(seen.log), 8],
  ]
  print(cells.map(([text, width]) => text.padStart(width)).join(''))
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
