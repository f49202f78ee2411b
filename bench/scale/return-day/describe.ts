// The tables of a return day.
import { median } from '../../measure.ts'
import type { Read } from './readers.ts'
import { SIZES } from './returns.ts'
import type { Day, TimedRun } from './run-day.ts'

interface Table {
  readonly name: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const LARGEST = Math.max(...SIZES.map(({ enrolments }) => enrolments))

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })
const seconds = (value: number) => `${number(value, value < 10 ? 2 : 1)} s`
const megabytes = (bytes: number) => `${number(bytes / 1e6)} MB`
const percent = (share: number) => `${number(share * 100)} %`

export function describeDay(day: Day): Table[] {
  return [describeSizes(day), describeReads(day), describeCosts(day)]
}

/** How long the returns of each size wait, and for whom. */
function describeSizes({ organisations, runs }: Day): Table {
  const large = runs.filter(({ enrolments }) => enrolments === LARGEST)
  const rows = SIZES.map(({ enrolments }) => {
    const own = runs.filter((run) => run.enrolments === enrolments)
    const waits = own.map(({ received, started }) => (started - received) / 1000)
    const beside = own.map((run) => besideOthers(run, large)).reduce((sum, each) => sum + each, 0)
    const waited = waits.reduce((sum, each) => sum + each, 0)
    return [
      number(enrolments),
      number(organisations.filter((each) => each.enrolments === enrolments).length),
      number(own.length),
      seconds(median(waits)),
      seconds(Math.max(...waits)),
      seconds(median(own.map(({ started, completed }) => (completed - started) / 1000))),
      percent(waited === 0 ? 0 : beside / 1000 / waited),
    ]
  })
  const heads = [
    'enrolments',
    'organisations',
    'runs',
    'wait, median',
    'longest',
    'run, median',
    `of the wait, beside a return of ${number(LARGEST)}`,
  ]
  return { name: 'return-day-waits', heads, rows }
}

/** Milliseconds of the wait of a run in which one of some others was in progress. */
function besideOthers({ received, started }: TimedRun, others: readonly TimedRun[]): number {
  let [sum, until] = [0, received]
  for (const other of [...others].sort((one, another) => one.started - another.started)) {
    const [from, to] = [Math.max(until, other.started), Math.min(started, other.completed)]
    if (to <= from) continue
    sum += to - from
    until = to
  }
  return sum
}

function describeReads({ reads: { reads }, primary }: Day): Table {
  const rows: string[][] = []
  for (const kind of ['catalogue', 'findings'] as const) {
    const own = reads.filter((each) => each.kind === kind)
    const during = own.filter(({ due }) => due >= primary.killed && due <= primary.ready)
    const others = own.filter((each) => !during.includes(each))
    const name = kind === 'catalogue' ? 'page of the catalogue' : 'page of findings'
    for (const [when, some] of [
      ['with a primary', others],
      ['without', during],
    ] as const)
      rows.push([name, when, ...describeTimes(some)])
  }
  return { name: 'return-day-reads', heads: ['read', '', 'requests', 'p50', 'p99', '503', 'failed'], rows }
}

function describeTimes(reads: readonly Read[]): string[] {
  const times = reads
    .filter(({ status }) => status === 200)
    .map(({ ms }) => ms)
    .sort((one, other) => one - other)
  const at = (share: number) => {
    const time = times[Math.floor(share * times.length)]
    return time === undefined ? '–' : `${number(time, time < 10 ? 1 : 0)} ms`
  }
  const refused = reads.filter(({ status }) => status === 503).length
  return [
    number(reads.length),
    at(0.5),
    at(0.99),
    number(refused),
    number(reads.length - times.length - refused),
  ]
}

function describeCosts(day: Day): Table {
  const { organisations, runs, used, size, worker, primary, wrong } = day
  const checked = runs.reduce((sum, { enrolments }) => sum + enrolments, 0)
  const findings = organisations.flatMap(({ returns }) => returns.map(({ faults }) => faults))
  const records = organisations.reduce((sum, { returns }) => sum + returns[1].records, 0)
  const rows = [
    ['enrolments checked', number(checked)],
    ['time, from the first upload to the last page of findings', seconds(day.seconds)],
    ['enrolments in a second', number(checked / day.seconds)],
    ['processor time of the service', seconds(used.server)],
    ['of the workers', seconds(used.workers)],
    ['of the primary and the standby', seconds(used.databases)],
    ['requests of organisations that were sent again', number(day.repeated)],
    ['size of the database', megabytes(size.database)],
    ['of which files', megabytes(size.files)],
    ['of which findings', megabytes(size.findings)],
    ['write-ahead log', megabytes(size.log)],
    ['a worker is killed: its run was claimed again after', seconds(worker.claimed)],
    ['and had ended after', seconds(worker.ended)],
    ['the primary is killed: the standby was promoted after', seconds(primary.promoted)],
    ['the service was ready after', seconds((primary.ready - primary.killed) / 1000)],
    ['the next run had ended after', seconds(primary.ended)],
    ['the new primary had a standby after', seconds(primary.redundant)],
    [
      'records, findings of both runs, compared for each organisation',
      `${number(records)}, ${number(findings.reduce((sum, each) => sum + each, 0))}`,
    ],
    ['lost or mixed', number(wrong.length)],
  ]
  return { name: 'return-day-costs', heads: ['measured', 'result'], rows }
}
