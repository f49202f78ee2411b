// The returns of a sector: a few organisations with many enrolments, many with few.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sizeOf } from '../../../test/support/sdr/clean.ts'
import { FILES, type FileName } from '../../../test/support/sdr/columns.ts'
import { writeFolder } from '../../../test/support/sdr/stream.ts'

/** Organisations whose returns have the same size: together 400, with 5,000,000 enrolments. */
export const SIZES = [
  { organisations: 240, enrolments: 2_000 },
  { organisations: 100, enrolments: 10_000 },
  { organisations: 40, enrolments: 30_000 },
  { organisations: 16, enrolments: 80_000 },
  { organisations: 4, enrolments: 260_000 },
] as const

/** The share of records with a fault: as first sent, and after corrections. */
const FAULTY = [0.01, 0.003] as const

/** A return that organisations of one size share, but for some faults of their own. */
interface Template {
  readonly records: number
  readonly faults: number
  readonly files: ReadonlyMap<FileName, Buffer>
}

export interface Organisation {
  readonly eid: string
  readonly enrolments: number
  /** As first sent, and corrected. */
  readonly returns: readonly [Return, Return]
}

interface Return {
  readonly records: number
  /** Findings that it must have: each fault is one. No other organisation has as many. */
  readonly faults: number
  readonly file: (name: FileName) => Buffer
}

/**
 * Makes the returns of a part of the sector; each size is generated once.
 *
 * @param part of the organisations of each size, rounded up
 */
export async function makeOrganisations(folder: string, part: number): Promise<Organisation[]> {
  const organisations: Organisation[] = []
  for (const { organisations: all, enrolments } of SIZES) {
    const [first, corrected] = [
      await makeTemplate(folder, enrolments, FAULTY[0]),
      await makeTemplate(folder, enrolments, FAULTY[1]),
    ]
    const count = Math.ceil(all * part)
    for (let index = 0; index < count; index++) {
      // With the faults of larger returns, which are more, no two totals are the same.
      const own = organisations.length + 1
      const returns = [addFaults(first, own), addFaults(corrected, own)] as const
      organisations.push({ eid: String(7000 + organisations.length), enrolments, returns })
    }
  }
  for (const sent of [0, 1] as const) {
    const totals = new Set(organisations.map(({ returns }) => returns[sent].faults))
    if (totals.size < organisations.length) throw new Error('two organisations have as many faults')
  }
  return organisations
}

async function makeTemplate(folder: string, enrolments: number, faulty: number): Promise<Template> {
  const path = join(folder, `${enrolments}-${faulty}`)
  const written = await writeFolder(path, sizeOf(enrolments, enrolments), faulty)
  const files = FILES.map((name) => [name, readFileSync(join(path, `${name}.csv`))] as const)
  return { ...written, files: new Map(files) }
}

/** The return with so many more faults: learners without a valid gender. */
function addFaults({ records, faults, files }: Template, more: number): Return {
  return {
    records,
    faults: faults + more,
    file(name) {
      const file = files.get(name)
      if (file === undefined) throw new Error(`there is no file ${name}`)
      return name === 'learners' ? breakLearners(file, more) : file
    },
  }
}

function breakLearners(file: Buffer, count: number): Buffer {
  let at = file.indexOf('\n') + 1
  const column = file.toString('utf8', 0, at).trimEnd().split(',').indexOf('gender')
  const rows: Buffer[] = [file.subarray(0, at)]
  for (let left = count; left > 0; ) {
    const end = file.indexOf('\n', at) + 1
    if (end === 0) throw new Error(`fewer than ${count} learners can be broken`)
    const cells = file.toString('utf8', at, end).split(',')
    if (cells[column] !== 'X') {
      cells[column] = 'X'
      left--
    }
    rows.push(Buffer.from(cells.join(',')))
    at = end
  }
  return Buffer.concat([...rows, file.subarray(at)])
}
