import type { Check, Resource } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'
import { compileField, type FieldCheck } from './field-checks.ts'
import type { Found } from './found.ts'
import { NumberList } from './interner.ts'
import type { OpenFile } from './read-file.ts'
import { compileCondition, compileRecordCheck, type RecordTest } from './record-checks.ts'
import type { RecordStep } from './references.ts'

/** The positions of a file's records, and the faults of unreadable ones. */
export class RecordIndex {
  /** Offsets by record number from 1; entry 0 is that of the header. */
  readonly offsets = new NumberList()
  /** Line numbers, which differ from record numbers only after empty lines and quoted line breaks. */
  readonly #lines = new NumberList()
  readonly #linesFrom: NumberList = new NumberList()
  #shift = 1
  /** The fault of a record that cannot be read. */
  readonly faults = new Map<number, string>()
  count = 0

  constructor(headerOffset: number | undefined, firstLine: number) {
    this.offsets.push(headerOffset ?? 0)
    this.#shift = firstLine - 1
    this.#linesFrom.push(0)
    this.#lines.push(this.#shift)
  }

  add(offset: number, line: number): number {
    this.offsets.push(offset)
    const record = ++this.count
    if (line - record !== this.#shift) {
      this.#shift = line - record
      this.#linesFrom.push(record)
      this.#lines.push(this.#shift)
    }
    return record
  }

  /** The line of a record. */
  lineOf(record: number): number {
    let [low, high] = [0, this.#linesFrom.size - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#linesFrom.get(middle) <= record) low = middle
      else high = middle - 1
    }
    return record + this.#lines.get(low)
  }
}

export interface ResourceRun {
  readonly resource: Resource
  readonly file: OpenFile
  readonly found: Found
  readonly parameters: Parameters
  /** The position of a check, or -1 if it does not run. */
  readonly position: (check: Check | undefined) => number
  readonly steps: readonly RecordStep[]
  readonly store: ((record: number, values: readonly string[]) => void) | undefined
  /** Called from time to time with the number of records. */
  readonly onRecords: (records: number) => void
}

/** The most record faults whose text is kept; more are counted under the same code. */
const MOST_FAULT_TEXTS = 100_000

/** Reads a file and checks each record; passes data that other files need to `steps` and `store`. */
export function checkResource(run: ResourceRun): RecordIndex {
  const { resource, file, found, position, steps, store } = run
  const { reader, columns } = file
  const index = new RecordIndex(file.headerOffset, file.format.kind === 'csv' ? reader.line + 1 : 1)
  const { fieldChecks, recordTests, setRecord } = compileChecks(run)
  const recordFault = position(resource.recordCheck)
  const { cells } = reader
  const { positions, width } = columns
  const count = fieldChecks.length
  const values: string[] = new Array(count).fill('')
  while (reader.next()) {
    const record = index.add(reader.offset, reader.line)
    const fault = reader.fault ?? (reader.count === width ? undefined : describeWidth(reader.count, width))
    if (fault !== undefined) {
      if (index.faults.size < MOST_FAULT_TEXTS) index.faults.set(record, fault)
      if (recordFault !== -1) found.add(recordFault, record)
      continue
    }
    setRecord(record)
    for (let field = 0; field < count; field++) {
      const at = positions[field] as number
      values[field] = at === -1 ? '' : (fieldChecks[field] as FieldCheck)(cells[at] as string)
    }
    for (let test = 0; test < recordTests.length; test++) (recordTests[test] as RecordTest)(values)
    for (let step = 0; step < steps.length; step++) (steps[step] as RecordStep)(values, record)
    store?.(record, values)
    if ((record & 0x3fff) === 0) run.onRecords(record)
  }
  run.onRecords(index.count)
  return index
}

function describeWidth(count: number, width: number): string {
  const values = count === 1 ? '1 value' : `${count} values`
  return `The record has ${values}, but the header has ${width} columns.`
}

function compileChecks({ resource, file, found, parameters, position }: ResourceRun): {
  fieldChecks: FieldCheck[]
  recordTests: RecordTest[]
  setRecord: (record: number) => void
} {
  let current = 0
  const report = (check: number) => found.add(check, current)
  const { missing } = file.columns
  const fieldChecks = resource.fields.map((field, index) =>
    compileField(field, {
      at: (kind) => (missing.has(index) ? -1 : position(field.checks[kind])),
      report,
      asOf: parameters.asOf,
    }),
  )
  const conditional = resource.fields.flatMap((field, index): RecordTest[] => {
    const tests: RecordTest[] = []
    const required = position(field.checks.required)
    if (field.requiredWhen !== undefined && !field.required && required !== -1 && !missing.has(index)) {
      const applies = compileCondition(field.requiredWhen)
      const cell = file.columns.positions[index] ?? -1
      const { cells } = file.reader
      // A value of the wrong type is a separate finding, and does not count as empty.
      tests.push((values) => {
        if (values[index] === '' && isEmpty(cell === -1 ? '' : cells[cell]) && applies(values))
          report(required)
      })
    }
    const empty = position(field.checks.empty)
    if (field.emptyWhen !== undefined && empty !== -1 && !missing.has(index)) {
      const applies = compileCondition(field.emptyWhen)
      tests.push((values) => {
        if (values[index] !== '' && applies(values)) report(empty)
      })
    }
    return tests
    function isEmpty(cell: string | undefined): boolean {
      const value = field.keepSpaces ? (cell ?? '') : (cell ?? '').trim()
      return value === '' || field.missingValues.includes(value)
    }
  })
  const across = resource.recordChecks.flatMap((check): RecordTest[] => {
    const place = position(check.check)
    if (place === -1) return []
    const test = compileRecordCheck(check, place, resource, parameters, report)
    return test === undefined ? [] : [test]
  })
  return {
    fieldChecks,
    recordTests: [...conditional, ...across],
    setRecord: (record) => {
      current = record
    },
  }
}
