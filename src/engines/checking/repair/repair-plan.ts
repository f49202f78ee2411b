import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { CsvReader } from '../../records/index.ts'
import type { Definition, Resource } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import { selectChecks } from '../engine/selection.ts'
import { ColumnEvidence, type ColumnRepair, repairValue, type ValueRepair } from './column-evidence.ts'
import { compileTester, type FieldTester } from './field-tester.ts'
import { compileNoRecords, type FindNoRecord } from './no-record-rows.ts'
import { ReferencedValues } from './reference-evidence.ts'
import { isWhole, type SeparatedFile, withReader } from './separated-file.ts'
import { isUnsure, NOT_ASCII } from './windows-1252.ts'

/** How a file is repaired. */
export interface FilePlan {
  readonly file: SeparatedFile
  /** What may be other text, because the encoding was guessed. If there is any, the file keeps its encoding. */
  readonly unsure: UnsureLines
  /** Whether its values are separated by commas in the copy. */
  readonly separates: boolean
  /** Finds the rows that are no records. Those that are certain are removed. */
  readonly findNoRecord: FindNoRecord
  /** By field. */
  readonly testers: readonly FieldTester[]
  readonly repairs: readonly ColumnRepair[]
  readonly references: (Reference | undefined)[]
  /** Whether every record could be split into its values. */
  readonly isWhole: boolean
}

interface UnsureLines {
  count: number
  /** The first ones. */
  readonly lines: number[]
}

interface Reference {
  readonly values: ReferencedValues
  /** Stands for the column. */
  readonly column: object
}

/** The lines that a message names. */
const SHOWN_LINES = 3

/** Characters that show that a file is not what its first bytes say. */
const MISREAD = /[\u0080-\u009f\ufffd]/

/**
 * Decides how files are repaired, by whole columns: each file is read for its values, then for its references. A file
 * in damaged UTF-16 gets no plan.
 */
export function planRepairs(
  files: readonly SeparatedFile[],
  { resources }: Definition,
  parameters: Parameters,
  only: readonly string[],
): FilePlan[] {
  const isActive = selectChecks(parameters, only)
  const plans = new Map<Resource, FilePlan>()
  for (const file of files) {
    const { resource } = file.source
    const testers = resource.fields.map((field) => {
      const isKindActive = (kind: string) => {
        const check = field.checks[kind]
        return check !== undefined && isActive(check)
      }
      return compileTester(field, isKindActive, parameters.asOf)
    })
    const plan = planFile(file, testers)
    if (plan !== undefined) plans.set(resource, plan)
  }
  const referenced = new Map<string, ReferencedValues>()
  for (const [resource, plan] of plans) {
    for (const { fields, resource: name, references, check } of resource.foreignKeys) {
      const [field] = fields
      const [reference] = references
      const target = plans.get(resources.find((each) => each.name === name) ?? resource)
      if (fields.length !== 1 || field === undefined || reference === undefined) continue
      if (target === undefined || !target.isWhole || !isActive(check)) continue
      if ((target.file.columns.positions[reference] ?? -1) === -1) continue
      const values = getOrMake(referenced, `${name}\n${reference}`, () => collectValues(target, reference))
      plan.references[field] = { values, column: {} }
    }
  }
  for (const plan of plans.values()) countReferences(plan)
  return [...plans.values()]
}

function planFile(file: SeparatedFile, testers: readonly FieldTester[]): FilePlan | undefined {
  const { source, columns, separator } = file
  const evidence = testers.map((tester) => new ColumnEvidence(tester))
  const findNoRecord = compileNoRecords(file, testers)
  const { encoding } = source.prepared
  const unsure: UnsureLines = { count: 0, lines: [] }
  let whole = true
  let misread = false
  const judge = ({ text, line }: CsvReader) => {
    if (encoding === 'Windows-1252') {
      if (isUnsure(text) && ++unsure.count <= SHOWN_LINES) unsure.lines.push(line)
    } else if (encoding !== 'UTF-8') misread ||= MISREAD.test(text)
  }
  withReader(source, (reader) => {
    judge(reader)
    while (reader.next()) {
      judge(reader)
      if (isRemoved(reader, findNoRecord)) continue
      if (!isWhole(reader, columns.width)) {
        whole = false
        continue
      }
      for (let field = 0; field < evidence.length; field++) {
        evidence[field]?.add(reader.cells[columns.positions[field] ?? -1] ?? '')
      }
    }
  })
  if (misread) return undefined
  // Where names are in another order than the definition's, two of them may be exchanged: each column speaks for itself.
  const shows = isAscending(columns.positions.filter((position) => position !== -1))
    ? evidence.filter(({ showsFile }) => showsFile)
    : []
  return {
    file,
    unsure,
    // A name such as learners.tsv says that tabs are meant. A row that cannot be split stays as it is.
    separates:
      whole &&
      separator !== ',' &&
      source.resource.dialect.delimiter === undefined &&
      !/\.tsv(?:\.gz)?$/i.test(source.name),
    findNoRecord,
    testers,
    repairs: evidence.map((each) => each.decide(shows.some((other) => other !== each))),
    references: testers.map(() => undefined),
    isWhole: whole,
  }
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => number > (numbers[index - 1] ?? -1))
}

function isRemoved({ fault, cells, count }: CsvReader, find: FindNoRecord): boolean {
  return fault === undefined && find(cells, count)?.isCertain === true
}

/** Reads the records whose values can be assigned to columns. */
function readRecords({ file, findNoRecord }: FilePlan, take: (cells: readonly string[]) => void): void {
  withReader(file.source, (reader) => {
    while (reader.next())
      if (isWhole(reader, file.columns.width) && !isRemoved(reader, findNoRecord)) take(reader.cells)
  })
}

function collectValues(plan: FilePlan, field: number): ReferencedValues {
  const values = new ReferencedValues()
  const position = plan.file.columns.positions[field] ?? -1
  readRecords(plan, (cells) => {
    const cell = cells[position] ?? ''
    if (!isLeft(plan, cell)) values.add((repairOne(plan, field, cell)?.value ?? cell).trim())
  })
  return values
}

function repairOne(plan: FilePlan, field: number, cell: string) {
  const [tester, repair] = [plan.testers[field], plan.repairs[field]]
  if (tester === undefined || repair === undefined || isLeft(plan, cell)) return undefined
  return repairValue(cell, tester, repair)
}

/** Whether a value stays as it is, because it may be another one. */
function isLeft({ unsure }: FilePlan, cell: string): boolean {
  return unsure.count > 0 && NOT_ASCII.test(cell)
}

function countReferences(plan: FilePlan): void {
  const { file, references } = plan
  if (references.every((each) => each === undefined)) return
  const { positions } = file.columns
  readRecords(plan, (cells) => {
    for (const [field, reference] of references.entries()) {
      if (reference === undefined) continue
      const cell = cells[positions[field] ?? -1] ?? ''
      const value = (repairOne(plan, field, cell)?.value ?? cell).trim()
      if (value !== '') reference.values.refer(reference.column, value)
    }
  })
}

/** The repair of a field's cell; `undefined` if it needs none, or none is known. */
export function repairCell(plan: FilePlan, field: number, cell: string): ValueRepair | undefined {
  const repaired = repairOne(plan, field, cell)
  const reference = plan.references[field]
  const value = (repaired?.value ?? cell).trim()
  if (reference === undefined || value === '' || isLeft(plan, cell)) return repaired
  const meant = reference.values.find(reference.column, value)
  if (meant === undefined || plan.testers[field]?.isValid(meant) !== true) return repaired
  const why = 'It differs only in case or invisible characters from the value that it refers to.'
  return { value: meant, why: repaired?.value === undefined ? why : `${repaired.why} ${why}` }
}
