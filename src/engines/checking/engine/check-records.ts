import { count as countOf } from '../../../foundation/text/format-number.ts'
import { kindOf, type RecordFault, type RecordReader } from '../../records/index.ts'
import type { Check, Condition, Field } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import { compileBroken, readBroken, readBrokenJson } from './broken-record.ts'
import { type Columns, describeNoRecordOf } from './columns.ts'
import { compileField, type FieldCheck, type Report } from './field-checks.ts'
import type { FileState } from './file-state.ts'
import type { Plan } from './plan.ts'
import type { OpenFile } from './read-file.ts'
import {
  compileCondition,
  compileRecordCheck,
  listConditionFields,
  listFields,
  type RecordTest,
  type Values,
} from './record-checks.ts'
import { RecordIndex } from './record-index.ts'
import type { RecordStep } from './references.ts'
import { Unknown } from './unknown.ts'

export interface RecordWork {
  readonly plan: Plan
  readonly parameters: Parameters
  readonly steps: readonly RecordStep[]
  readonly store: ((record: number, values: Values, unknown: Unknown) => void) | undefined
  /** Called from time to time with the number of records. */
  readonly onRecords: (records: number) => void
}

/** The most record faults whose text is kept; more are counted under the same code. */
const MOST_FAULT_TEXTS = 100_000

/** Reads a file and checks each record; passes data that other files need to `steps` and `store`. */
export function checkRecords(state: FileState, file: OpenFile, work: RecordWork): RecordIndex {
  const { resource, found } = state
  const { plan, steps, store } = work
  const { reader, columns } = file
  const index = new RecordIndex(file.headerOffset ?? 0, Math.max(1, reader.line), resource.fields.length)
  const recordFault = plan.position(resource.recordCheck)
  const { cells } = reader
  const { positions } = columns
  const unknown = new Unknown(resource.fields.length, (field) => {
    const position = positions[field] ?? -1
    return (unknown.isWhole ? unknown.broken : cells)[position] ?? ''
  })
  const { format } = file
  const names = resource.fields.map(({ name }) => name)
  const readRecord = () =>
    format.kind === 'csv'
      ? readBroken(reader, format.separator, columns.width)
      : readBrokenJson(reader, names)
  const readValues = compileBroken(resource)
  const { fieldChecks, recordTests, setRecord } = compileChecks(state, file, work, unknown, index.empty)
  const count = fieldChecks.length
  const isTable = format.kind === 'csv'
  const values: string[] = new Array(count).fill('')
  while (reader.next()) {
    const record = index.add(reader.offset, reader.line)
    const fault = reader.fault ?? describeCells(reader, file.columns, isTable)
    unknown.clear()
    if (fault !== undefined) {
      const broken = kindOf(fault).isNone ? undefined : readRecord()
      if (index.faults.size < MOST_FAULT_TEXTS) index.faults.set(record, broken?.form ?? fault)
      if (recordFault !== -1) found.add(recordFault, record)
      if (broken === undefined) {
        index.noRecords++
        continue
      }
      index.broken++
      // What the record would say about others is unknown, but it may be the one that they mean.
      values.fill('')
      unknown.markAll(broken.cells)
      for (let step = 0; step < steps.length; step++) (steps[step] as RecordStep)(values, record, unknown)
      store?.(record, readValues(unknown.cellOf), unknown)
      continue
    }
    setRecord(record)
    for (let field = 0; field < count; field++) {
      const at = positions[field] as number
      values[field] = at === -1 ? '' : (fieldChecks[field] as FieldCheck)(cells[at] as string)
    }
    for (let test = 0; test < recordTests.length; test++) {
      const { needs, check, holds } = recordTests[test] as NeedyTest
      const field = unknown.firstOf(needs)
      if (field === -1) holds(values)
      else plan.undecided.add(check, resource.name, field)
    }
    for (let step = 0; step < steps.length; step++) (steps[step] as RecordStep)(values, record, unknown)
    store?.(record, values, unknown)
    if ((record & 0x3fff) === 0) work.onRecords(record)
  }
  work.onRecords(index.count)
  return index
}

/** The fault of a row that is no record, or has not one value for each column. */
function describeCells(
  { cells, count }: RecordReader,
  columns: Columns,
  isTable: boolean,
): RecordFault | undefined {
  const { width } = columns
  // A record of NDJSON without known names has others.
  const none = isTable ? describeNoRecordOf(columns, cells, count) : undefined
  if (none !== undefined || count === width) return none
  const message = `The record has ${countOf(count, 'value')}, but the header has ${countOf(width, 'column')}.`
  return { code: 'width', message }
}

/** A check across fields, with the fields that it reads. */
interface NeedyTest {
  readonly check: Check
  readonly needs: readonly number[]
  readonly holds: RecordTest
}

function compileChecks(
  { resource, found }: FileState,
  file: OpenFile,
  { plan, parameters }: RecordWork,
  unknown: Unknown,
  empty: number[],
): {
  fieldChecks: FieldCheck[]
  recordTests: NeedyTest[]
  setRecord: (record: number) => void
} {
  let current = 0
  const report: Report = (check, extras) => found.add(check, current, extras)
  const { missing } = file.columns
  const fieldChecks = resource.fields.map((field, index) =>
    compileField(field, {
      at: (kind) => (missing.has(index) ? -1 : plan.position(field.checks[kind])),
      isInForce: (kind) => plan.isInForce(field.checks[kind]),
      report,
      conceal: () => unknown.mark(index),
      countEmpty: () => {
        empty[index] = (empty[index] ?? 0) + 1
      },
      asOf: parameters.asOf,
    }),
  )
  const conditional = resource.fields.flatMap((field, index): NeedyTest[] => {
    if (missing.has(index)) return []
    const { required, empty } = field.checks
    return [
      ...compileRequired(field, index, required),
      ...(field.emptyWhen === undefined || empty === undefined || plan.position(empty) === -1
        ? []
        : [compileEmpty(index, field.emptyWhen, empty)]),
    ]
  })
  function compileRequired(field: Field, index: number, check: Check | undefined): NeedyTest[] {
    if (field.requiredWhen === undefined || field.required || check === undefined) return []
    if (!plan.isInForce(check)) return []
    const place = plan.position(check)
    const applies = compileCondition(field.requiredWhen)
    const cell = file.columns.positions[index] ?? -1
    const { cells } = file.reader
    const holds: RecordTest = (values) => {
      if (values[index] !== '' || !isAbsent(field, cell === -1 ? '' : cells[cell]) || !applies(values)) return
      if (place !== -1) report(place)
      unknown.mark(index)
    }
    return [{ check, needs: listConditionFields(field.requiredWhen), holds }]
  }
  function compileEmpty(index: number, when: Condition, check: Check): NeedyTest {
    const applies = compileCondition(when)
    const place = plan.position(check)
    const holds: RecordTest = (values) => {
      if (values[index] !== '' && applies(values)) report(place)
    }
    return { check, needs: [index, ...listConditionFields(when)], holds }
  }
  const across = resource.recordChecks.flatMap((each): NeedyTest[] => {
    const place = plan.position(each.check)
    if (place === -1) return []
    const holds = compileRecordCheck(each, place, resource, parameters, report)
    return holds === undefined ? [] : [{ check: each.check, needs: listFields(each), holds }]
  })
  return {
    fieldChecks,
    recordTests: [...conditional, ...across],
    setRecord: (record) => {
      current = record
    },
  }
}

/** Whether a cell has no value. One that cannot be read is a separate finding, and does not count as empty. */
function isAbsent({ keepSpaces, missingValues }: Field, cell = ''): boolean {
  return missingValues.includes(cell) || (!keepSpaces && missingValues.includes(cell.trim()))
}
