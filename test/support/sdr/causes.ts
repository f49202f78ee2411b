import type { Finding } from '../../../src/engines/checking/engine/summary.ts'
import { Random } from '../random.ts'
import type { FileName, Row } from './columns.ts'
import type { Tables } from './small.ts'

/** What an injected fault did: the cells that it changed, and the keys that it removed or repeated. */
interface Trace {
  readonly cells: Set<string>
  readonly keys: Set<string>
}

interface Fault {
  readonly name: string
  /** The columns that it touches, so that no other fault of a return does. */
  readonly touches: readonly string[]
  readonly apply: (tables: Tables, random: Random, trace: Trace) => void
}

const dayFirst = (value: string) => value.replace(/^(\d+)-(\d+)-(\d+)$/, '$3/$2/$1')

function eachCell(
  file: FileName,
  field: string,
  change: (value: string) => string,
  share = 1,
): Fault['apply'] {
  return (tables, random, { cells }) => {
    for (const [index, row] of tables[file].entries()) {
      const before = row[field] ?? ''
      if (before === '' || (share < 1 && !random.chance(share))) continue
      row[field] = change(before)
      if (row[field] !== before) cells.add(`${file}:${index + 2}:${field}`)
    }
  }
}

function cells(
  name: string,
  file: FileName,
  field: string,
  change: (value: string) => string,
  share?: number,
): Fault {
  return { name, touches: [`${file}.${field}`], apply: eachCell(file, field, change, share) }
}

function remove(tables: Tables, file: FileName, field: string, keys: readonly string[], trace: Trace): void {
  tables[file] = tables[file].filter((row) => !keys.includes(row[field] ?? ''))
  for (const key of keys) trace.keys.add(key)
}

/** The most frequent values of a field. */
function frequent(rows: readonly Row[], field: string): string[] {
  const counts = Map.groupBy(rows, (row) => row[field] ?? '')
  return [...counts]
    .sort(([one, first], [other, second]) => second.length - first.length || (one < other ? -1 : 1))
    .map(([value]) => value)
}

/** Faults as they happen in spreadsheets and exports. */
const FAULTS: readonly Fault[] = [
  cells('d/m/y in enrolments', 'enrolments', 'courseStartDate', dayFirst),
  cells('d/m/y in births', 'learners', 'dateOfBirth', dayFirst),
  cells('decimal commas in fees', 'learners', 'totalFeeForDomesticStudent', (value) =>
    value.replace('.', ','),
  ),
  cells('decimal commas in factors', 'courses', 'eftsFactor', (value) => value.replace('.', ',')),
  cells('a source of funding outside the list', 'enrolments', 'sourceOfFunding', () => '99', 0.06),
  cells('lost zeros of sites', 'enrolments', 'deliverySite', (value) => value.replace(/^0+/, '')),
  cells('lost zeros of schools', 'learners', 'lastSecondarySchool', (value) => value.replace(/^0+(?=.)/, '')),
  cells('gender in small letters', 'learners', 'gender', (value) => value.toLowerCase(), 0.3),
  cells('attendance outside the list', 'enrolments', 'attendance', () => '1', 0.05),
  cells('no outcome', 'course-completions', 'completionIndicator', () => '', 0.1),
  cells('spaces behind courses', 'course-completions', 'courseCode', (value) => `${value} `),
  {
    name: 'courses in small letters',
    // Without the dates of enrolments, the rule that compares the two files does not run.
    touches: ['course-completions.courseCode', 'enrolments.courseStartDate'],
    apply: eachCell('course-completions', 'courseCode', (value) => value.toLowerCase()),
  },
  cells('an error of a spreadsheet', 'courses', 'courseTuitionFee', () => '#N/A', 0.4),
  cells('postcodes as numbers', 'learners', 'permanentPostcode', (value) => value.replace(/^0+/, ''), 1),
  cells(
    'NSN with a space',
    'qualification-completions',
    'nationalStudentNumber',
    (value) => `${value.slice(0, 3)} ${value.slice(3)}`,
  ),
  cells('thousands in hours', 'courses', 'learningHours', () => '1,200'),
  {
    name: 'a course is missing',
    touches: ['courses.courseCode'],
    apply: (tables, _random, trace) => {
      remove(tables, 'courses', 'courseCode', frequent(tables.enrolments, 'courseCode').slice(0, 1), trace)
    },
  },
  {
    name: 'five learners are missing',
    touches: ['learners.studentIdentificationCode'],
    apply: (tables, random, trace) => {
      const codes = tables.learners.map((row) => row.studentIdentificationCode ?? '')
      const keys = Array.from({ length: 5 }, () => codes[random.below(codes.length)] ?? '')
      remove(tables, 'learners', 'studentIdentificationCode', keys, trace)
    },
  },
  {
    name: 'three learners twice',
    touches: ['learners.localId'],
    apply: (tables, random, trace) => {
      for (let count = 0; count < 3; count++) {
        const row = tables.learners[random.below(tables.learners.length)]
        if (row === undefined) continue
        tables.learners.push({ ...row, localId: `TWICE${count}` })
        trace.cells.add(`learners:${tables.learners.length + 1}:studentIdentificationCode`)
      }
    },
  },
  {
    name: 'empty rows',
    touches: ['courses.'],
    apply: (tables, _random, trace) => {
      for (let count = 0; count < 3; count++) {
        tables.courses.push({})
        trace.cells.add(`courses:${tables.courses.length + 1}:`)
      }
    },
  },
]

export interface Injected {
  readonly tables: Tables
  /** The names of the faults, each of which changed something. */
  readonly injected: readonly string[]
  /** The faults that may explain a finding: the one that changed its cell, or else those that touch its record. */
  readonly explain: (finding: Finding) => readonly string[]
}

/** Injects 10 to 15 faults into a clean return, by a seed. */
export function inject(tables: Tables, seed: number): Injected {
  const random = new Random(seed * 97 + 11)
  const order = [...FAULTS]
  for (let index = order.length - 1; index > 0; index--) {
    const other = random.below(index + 1)
    const [one, two] = [order[index], order[other]]
    if (one !== undefined && two !== undefined) [order[index], order[other]] = [two, one]
  }
  const chosen: Fault[] = []
  const most = 10 + (seed % 6)
  for (const fault of order) {
    const isFree = !chosen.some(({ touches }) => touches.some((each) => fault.touches.includes(each)))
    if (isFree && chosen.length < most) chosen.push(fault)
  }
  // Records are removed before lines are counted, and added after.
  const rank = ({ name }: Fault) => (/missing/.test(name) ? 0 : /twice|empty/.test(name) ? 2 : 1)
  chosen.sort((one, other) => rank(one) - rank(other))
  const traces = new Map<string, Trace>()
  for (const { name, apply } of chosen) {
    const trace: Trace = { cells: new Set(), keys: new Set() }
    apply(tables, random, trace)
    if (trace.cells.size + trace.keys.size > 0) traces.set(name, trace)
  }
  const explain = (finding: Finding): string[] => {
    const file = finding.file.replace('.csv', '') as FileName
    const place = `${file}:${finding.line}:`
    const direct = [...traces].filter(([, trace]) => trace.cells.has(`${place}${finding.field ?? ''}`))
    if (direct.length > 0) return direct.map(([name]) => name)
    const values = new Set(Object.values(tables[file][finding.line - 2] ?? {}))
    const byKey = [...traces].filter(([, trace]) => [...trace.keys].some((key) => values.has(key)))
    if (/reference|LEA-104/.test(finding.errorCode) && byKey.length > 0) return byKey.map(([name]) => name)
    const touched = [...traces].filter(
      ([, trace]) =>
        [...trace.keys].some((key) => values.has(key)) ||
        [...trace.cells].some((cell) => cell.startsWith(place)),
    )
    if (touched.length > 0) return [...touched.map(([name]) => name), '']
    // A true consequence of a changed record of the same learner in another file.
    const related = [...traces].filter(([, trace]) =>
      [...trace.cells].some((cell) => {
        const [other = '', line = ''] = cell.split(':')
        const row = tables[other as FileName][Number(line) - 2]
        return row?.studentIdentificationCode !== undefined && values.has(row.studentIdentificationCode)
      }),
    )
    return related.length > 0 ? [...related.map(([name]) => name), ''] : []
  }
  return { tables, injected: [...traces.keys()], explain }
}
