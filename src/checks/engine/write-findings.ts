import { hash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { Check, Resource } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'
import type { RecordIndex } from './check-resource.ts'
import type { Extras, Found } from './found.ts'
import { Interner, PairTable } from './interner.ts'
import { toCell } from './json-reader.ts'
import { compileMessage, type MessageWriter } from './messages.ts'
import type { OpenFile } from './read-file.ts'
import { RecordTexts, splitRecord } from './record-text.ts'
import { compileValues } from './values.ts'

/** What has been found in a file, and where its records are. */
export interface CheckedFile {
  readonly resource: Resource
  readonly found: Found
  /** Name of the file, as findings show it. */
  readonly name: string
  /** Messages of the findings of the whole file, in order, by check. */
  readonly fileMessages: ReadonlyMap<Check, readonly { message: string; field?: string }[]>
  /** Absent if no record could be read. */
  readonly records:
    | { readonly path: string; readonly file: OpenFile; readonly index: RecordIndex }
    | undefined
}

/** What is counted of a code while its findings are written. */
export interface WrittenCode {
  stored: number
  students: number
  firstLine: number | undefined
}

/** Longest value that a finding repeats. */
const MOST_VALUE = 1000
/** The most characters of a record's text and of its identifiers: a page has a thousand of them in memory. */
const MOST_TEXT = 4096
const MOST_ID = 300
// biome-ignore lint/suspicious/noControlCharactersInRegex: these may be in no published text.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/**
 * Writes findings as NDJSON, in the order file, record, check. A record with findings is read again at its offset, so
 * nothing of the others was kept.
 */
export class FindingsWriter {
  readonly #file: number
  readonly #parameters: Parameters
  readonly codes = new Map<Check, WrittenCode>()
  readonly #texts: string[] = []
  #size = 0
  readonly #students = new Interner()
  readonly #studentsOfCodes = new PairTable()

  constructor(path: string, parameters: Parameters) {
    this.#file = openSync(path, 'w', 0o600)
    this.#parameters = parameters
  }

  /** @throws if the disk is full; the file is then not complete */
  write(checked: CheckedFile): void {
    const source = checked.records === undefined ? undefined : openSync(checked.records.path, 'r')
    try {
      this.#writeAll(checked, source === undefined ? undefined : new RecordTexts(source))
    } finally {
      if (source !== undefined) closeSync(source)
    }
  }

  close(): void {
    this.#flush()
    closeSync(this.#file)
  }

  #writeAll(checked: CheckedFile, texts: RecordTexts | undefined): void {
    const { resource, found, records } = checked
    const messages: (MessageWriter | undefined)[] = []
    const fileMessages = new Map([...checked.fileMessages].map(([check, list]) => [check, [...list]]))
    const view = new RecordView(checked, texts)
    const read = (field: number) => view.cell(field)
    for (const { record, check: position, extras } of found.sorted()) {
      const check = resource.checks[position]
      if (check === undefined) continue
      view.move(record)
      let field = check.fields[0]
      let message: string
      const ofFile = fileMessages.get(check)
      if (ofFile !== undefined) {
        const next = ofFile.shift()
        message = next?.message ?? ''
        field = next?.field
      } else if (check === resource.recordCheck) {
        message = records?.index.faults.get(record) ?? 'The record cannot be read.'
      } else {
        messages[position] ??= compileMessage(check, resource, this.#parameters)
        message = (messages[position] as MessageWriter)(read, extras)
      }
      this.#append(checked, check, view, record, message, field, extras)
    }
  }

  #append(
    { resource, name }: CheckedFile,
    check: Check,
    view: RecordView,
    record: number,
    message: string,
    field: string | undefined,
    _extras: Extras | undefined,
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
      `,"findingKey":"${hash('sha256', keyed, 'base64url').slice(0, 22)}"}\n`
    this.#count(check, view)
    this.#texts.push(line)
    this.#size += line.length
    if (this.#size > 1 << 20) this.#flush()
  }

  #count(check: Check, { studentId, line }: RecordView): void {
    let code = this.codes.get(check)
    if (code === undefined) {
      code = { stored: 0, students: 0, firstLine: line }
      this.codes.set(check, code)
    }
    code.stored++
    if (studentId === '') return
    const number = this.codeNumber(check)
    const before = this.#studentsOfCodes.size
    this.#studentsOfCodes.intern(number, this.#students.intern(studentId))
    if (this.#studentsOfCodes.size > before) code.students++
  }

  readonly #numbers = new Map<Check, number>()

  private codeNumber(check: Check): number {
    let number = this.#numbers.get(check)
    if (number === undefined) {
      number = this.#numbers.size
      this.#numbers.set(check, number)
    }
    return number
  }

  #flush(): void {
    const bytes = Buffer.from(this.#texts.join(''))
    this.#texts.length = 0
    this.#size = 0
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
  }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}

/** Text as a finding may show it: control characters would make it unfit to be published. */
function json(text: string): string {
  return JSON.stringify(CONTROL.test(text) ? text.replace(CONTROL, showControl) : text)
}

function showControl(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
}

/** The record of a finding, read again. */
class RecordView {
  text = ''
  jsonText = '""'
  line = 1
  localId = ''
  courseCode = ''
  studentId = ''

  readonly #checked: CheckedFile
  readonly #texts: RecordTexts | undefined
  readonly #keyReaders: {
    field: number
    toKey: (value: string) => string
    isValid: (value: string) => boolean
  }[]
  #record = -1
  #cells: readonly string[] = []
  #key: string | undefined

  constructor(checked: CheckedFile, texts: RecordTexts | undefined) {
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
    if (records?.file.format.kind === 'csv') return splitRecord(text, records.file.format.separator)
    const record = JSON.parse(text) as Record<string, unknown>
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

  /** What tells the record from others, wherever it is in its file: its primary key, or else its text. */
  get key(): string {
    this.#key ??= this.#readKey()
    return this.#key
  }

  #readKey(): string {
    const parts = this.#keyReaders.map(({ field, toKey, isValid }) => {
      const value = this.#get(field)
      return value !== '' && isValid(value) ? toKey(value) : ''
    })
    if (parts.length === 0 || parts.includes('')) return `text\n${this.text}`
    return `key\n${parts.join('\n')}`
  }
}
