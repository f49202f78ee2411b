import { hash } from 'node:crypto'
import { closeSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs'
import { getOrMake } from '../../../foundation/get-or-make.ts'
import { parseRecord, type RecordFault, splitRecord, toCell } from '../../records/index.ts'
import type { Check } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'
import type { Causes } from './causes.ts'
import type { FileFault } from './file-fault.ts'
import type { FileState } from './file-state.ts'
import { FindingShares } from './finding-shares.ts'
import { Interner, PairTable } from './interner.ts'
import { compileMessage, type MessageWriter } from './messages.ts'
import { RecordTexts } from './record-text.ts'
import type { SeenFinding } from './seen-finding.ts'
import { cut, toShown } from './shown-text.ts'
import type { Finding } from './summary.ts'
import { compileValues } from './values.ts'

/** What is counted of a code while its findings are written. */
export interface WrittenCode {
  stored: number
  students: number
  firstLine: number | undefined
}

/** Of more such records than are remembered. */
const UNREADABLE: RecordFault = { code: 'unreadable', message: 'The record cannot be read.' }

const NOTHING: WrittenCode = { stored: 0, students: 0, firstLine: undefined }

/** Longest value that a finding repeats. */
const MOST_VALUE = 1000
/** The most characters of a record's text and of its identifiers: a page has a thousand of them in memory. */
const MOST_TEXT = 4096
const MOST_ID = 300

/**
 * Writes findings as NDJSON, in the order file, record, check. A record with findings is read again at its offset, so
 * nothing of the others was kept.
 */
export class FindingsWriter {
  #file: number
  readonly #path: string
  readonly #parameters: Parameters
  readonly #shares: FindingShares
  readonly #codes = new Map<string, WrittenCode & { number: number }>()
  readonly #texts: string[] = []
  #size = 0
  #students = new Interner()
  #studentsOfCodes = new PairTable()

  /** @param most the bytes that the findings of all files may take */
  constructor(path: string, parameters: Parameters, most: number) {
    this.#path = path
    this.#file = openSync(path, 'w', 0o600)
    this.#parameters = parameters
    this.#shares = new FindingShares(most)
  }

  written({ code }: Check): Readonly<WrittenCode> {
    const { stored, students, firstLine } = this.#codes.get(code) ?? NOTHING
    return { stored, students, firstLine }
  }

  /** @throws if the disk is full; the file is then not complete */
  write(checked: FileState, causes: Causes): void {
    read(checked, (texts) => this.#writeAll(checked, texts, causes))
  }

  /** Passes each finding that will be written, without its message. */
  visit(checked: FileState, handle: (finding: SeenFinding) => void): void {
    read(checked, (texts) => {
      const { resource, name } = checked
      const view = new RecordView(checked, texts)
      const cell = (field: number) => view.cell(field)
      for (const { record, check: position } of checked.found.sorted()) {
        const check = resource.checks[position]
        if (check === undefined || record === 0 || check === resource.recordCheck) continue
        view.move(record)
        const { line, studentId } = view
        handle({ resource, name, check, record, line, field: check.fields[0], message: '', studentId, cell })
      }
    })
  }

  close(): void {
    this.#flush()
    closeSync(this.#file)
    if (this.#shares.exceeded) this.#trim()
  }

  #writeAll(checked: FileState, texts: RecordTexts | undefined, causes: Causes): void {
    const { resource, found, records } = checked
    const messages: (MessageWriter | undefined)[] = []
    const fileFaults = new Map([...checked.fileFaults].map(([check, list]) => [check, list.values()]))
    const view = new RecordView(checked, texts)
    const cell = (field: number) => view.cell(field)
    for (const { record, check: position, extras } of found.sorted()) {
      const check = resource.checks[position]
      if (check === undefined) continue
      view.move(record)
      let field = check.fields[0]
      let fault: FileFault | RecordFault | undefined
      let message: string
      const ofFile = fileFaults.get(check)
      if (ofFile !== undefined) {
        const { value: next } = ofFile.next()
        fault = next
        message = next?.message ?? ''
        field = next?.field
      } else if (check === resource.recordCheck) {
        fault = records?.index.faults.get(record) ?? UNREADABLE
        message = fault.message
      } else {
        messages[position] ??= compileMessage(check, resource, this.#parameters)
        const earlier = extras?.earlierRecord
        const known =
          earlier === undefined ? extras : { earlierLine: String(records?.index.lineOf(Number(earlier))) }
        message = (messages[position] as MessageWriter)(cell, known)
      }
      const { line, studentId } = view
      const { name } = checked
      const seen = { resource, name, check, record, line, field, message, fault, studentId, cell }
      const cause = causes.assign(seen)
      if (this.#shares.hasRoom(check.code)) this.#append(seen, view, cause)
    }
  }

  #append(
    { resource, name, check, record, message, field }: SeenFinding,
    view: RecordView,
    cause: string,
  ): void {
    const cell = record === 0 ? '' : view.cellOf(field)
    const value = cut(cell, MOST_VALUE)
    const keyed = `${check.code}\n${view.key}\n${field ?? ''}\n${record === 0 ? message : cell}`
    const { localId, courseCode, studentId } = view
    const line =
      `${localId === '' ? '{' : `{"localId":${json(localId)},`}"errorCode":"${check.code}"` +
      `,"errorDescription":${json(message)},"errorType":"${check.severity}","fileType":"${resource.fileType}"` +
      (courseCode === '' ? '' : `,"courseCode":${json(courseCode)}`) +
      (studentId === '' ? '' : `,"studentId":${json(studentId)}`) +
      (view.text === '' ? '' : `,"recordText":${view.jsonText}`) +
      `,"file":${json(name)},"line":${view.line}` +
      (field === undefined ? '' : `,"field":${json(field)}`) +
      (value === '' ? '' : `,"value":${json(value)}`) +
      `,"findingKey":"${hash('sha256', keyed, 'base64url').slice(0, 22)}","cause":${JSON.stringify(cause)}}\n`
    const bytes = Buffer.byteLength(line)
    this.#shares.add(check.code, bytes)
    this.#count(check.code, view.studentId, view.line)
    this.#push(line, bytes)
  }

  #push(line: string, bytes: number): void {
    this.#texts.push(line)
    this.#size += bytes
    if (this.#size > 1 << 20) this.#flush()
  }

  #count(name: string, studentId: string, line: number): void {
    const code = getOrMake(this.#codes, name, () => {
      return { number: this.#codes.size, stored: 0, students: 0, firstLine: line }
    })
    code.stored++
    if (studentId === '') return
    const before = this.#studentsOfCodes.size
    this.#studentsOfCodes.intern(code.number, this.#students.intern(studentId))
    if (this.#studentsOfCodes.size > before) code.students++
  }

  /**
   * Drops findings beyond the share of their code, which is known only now: each code keeps its first ones. What is
   * counted of them is counted again.
   */
  #trim(): void {
    const whole = `${this.#path}.whole`
    renameSync(this.#path, whole)
    this.#file = openSync(this.#path, 'w', 0o600)
    this.#codes.clear()
    this.#students = new Interner()
    this.#studentsOfCodes = new PairTable()
    const kept = this.#shares.divide()
    for (const line of readLines(whole)) {
      const { errorCode, studentId = '', line: place } = JSON.parse(line) as Finding
      const bytes = Buffer.byteLength(line)
      if (!kept(errorCode, bytes)) continue
      this.#count(errorCode, studentId, place)
      this.#push(line, bytes)
    }
    rmSync(whole)
    this.#flush()
    closeSync(this.#file)
  }

  #flush(): void {
    const bytes = Buffer.from(this.#texts.join(''))
    this.#texts.length = 0
    this.#size = 0
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
  }
}

/** Opens the records of a file for reading them again. */
function read(checked: FileState, work: (texts: RecordTexts | undefined) => void): void {
  const source = checked.records === undefined ? undefined : openSync(checked.records.path, 'r')
  try {
    work(source === undefined ? undefined : new RecordTexts(source))
  } finally {
    if (source !== undefined) closeSync(source)
  }
}

/** Values of some records of a file, spread over all of it. */
export function readSample(checked: FileState, count: number): string[][] {
  const sample: string[][] = []
  const records = checked.records?.index.count ?? 0
  const step = Math.max(1, Math.floor(records / count))
  read(checked, (texts) => {
    const view = new RecordView(checked, texts)
    for (let record = 1; record <= records; record += step) {
      view.move(record)
      sample.push(checked.resource.fields.map((_, field) => view.cell(field)))
    }
  })
  return sample
}

/** The lines of a file, each with its line end, in blocks. */
function* readLines(path: string): Generator<string> {
  const file = openSync(path, 'r')
  try {
    const block = Buffer.allocUnsafe(1 << 20)
    let rest: Buffer = Buffer.alloc(0)
    for (;;) {
      const read = readSync(file, block)
      if (read === 0) return
      const bytes = Buffer.concat([rest, block.subarray(0, read)])
      let at = 0
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, at)) {
        yield bytes.toString('utf8', at, end + 1)
        at = end + 1
      }
      rest = bytes.subarray(at)
    }
  } finally {
    closeSync(file)
  }
}

function json(text: string): string {
  return JSON.stringify(toShown(text))
}

/** The record of a finding, read again. */
class RecordView {
  text = ''
  jsonText = '""'
  line = 1
  localId = ''
  courseCode = ''
  studentId = ''

  readonly #checked: FileState
  readonly #texts: RecordTexts | undefined
  readonly #keyReaders: {
    field: number
    toKey: (value: string) => string
    read: (value: string) => string | undefined
  }[]
  #record = -1
  #cells: readonly string[] = []
  #key: string | undefined

  constructor(checked: FileState, texts: RecordTexts | undefined) {
    this.#checked = checked
    this.#texts = texts
    const { resource } = checked
    const fields = resource.hasPrimaryKey ? (resource.keys[0]?.fields ?? []) : []
    this.#keyReaders = fields.flatMap((field) => {
      const definition = resource.fields[field]
      return definition === undefined ? [] : [{ field, ...compileValues(definition) }]
    })
  }

  move(record: number): void {
    if (record === this.#record) return
    this.#record = record
    this.#key = undefined
    const { resource, records } = this.#checked
    if (records === undefined || this.#texts === undefined) {
      this.#show('', [])
      this.line = 1
      return
    }
    const { index, file } = records
    this.line = record === 0 ? Math.max(1, index.lineOf(0)) : index.lineOf(record)
    if (record === 0 && file.headerOffset === undefined) {
      this.#show('', [])
      return
    }
    const next = record < index.count ? index.offsets.get(record + 1) : undefined
    const text = this.#texts.read(index.offsets.get(record), next)
    const unreadable = record === 0 || index.faults.has(record)
    this.#show(text, unreadable ? [] : this.#split(text))
    const { localId, courseCode, studentId } = resource.record
    this.localId = record === 0 ? '' : cut(this.#get(localId), MOST_ID) || String(this.line)
    this.courseCode = cut(this.#get(courseCode), MOST_ID)
    this.studentId = cut(this.#get(studentId), MOST_ID)
  }

  #show(text: string, cells: readonly string[]): void {
    this.text = text
    this.jsonText = json(cut(text, MOST_TEXT))
    this.#cells = cells
    this.localId = ''
    this.courseCode = ''
    this.studentId = ''
  }

  #split(text: string): readonly string[] {
    const { records, resource } = this.#checked
    if (records?.file.format.kind === 'csv') return splitRecord(text, records.file.format.separator) ?? []
    const { record = {} } = parseRecord(text)
    return resource.fields.map(({ name, delimiter }) => toCell(record[name], delimiter))
  }

  #get(field: number | undefined): string {
    return field === undefined ? '' : this.cell(field).trim()
  }

  /** The value of a field as the file has it. */
  cell(field: number): string {
    const position = this.#checked.records?.file.columns.positions[field] ?? -1
    return this.#cells[position] ?? ''
  }

  cellOf(name: string | undefined): string {
    if (name === undefined) return ''
    return this.cell(this.#checked.resource.fields.findIndex((field) => field.name === name))
  }

  /** What identifies the record, wherever it is in its file: its primary key, or else its text. */
  get key(): string {
    this.#key ??= this.#readKey()
    return this.#key
  }

  #readKey(): string {
    const parts = this.#keyReaders.map(({ field, toKey, read }) => {
      const text = this.#get(field)
      const value = text === '' ? undefined : read(text)
      return value === undefined ? '' : toKey(value)
    })
    if (parts.length === 0 || parts.includes('')) return `text\n${this.text}`
    return `key\n${parts.join('\n')}`
  }
}
