import { parseRecord, splitRecord, toCell } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'
import type { OpenFile } from './read-file.ts'
import type { RecordIndex } from './record-index.ts'
import { RecordTexts } from './record-text.ts'
import { cut } from './shown-text.ts'

/** The most characters of an identifier. */
const MOST_ID = 300

/** The records of a file once they have been read. */
export interface ReadRecords {
  readonly path: string
  readonly file: OpenFile
  readonly index: RecordIndex
}

/** A record that is read again at its offset. */
export class RecordView {
  text = ''
  line = 1
  localId = ''
  courseCode = ''
  studentId = ''

  readonly #resource: Resource
  readonly #records: ReadRecords | undefined
  readonly #texts: RecordTexts | undefined
  readonly #keyReaders: {
    field: number
    toKey: (value: string) => string
    read: (value: string) => string | undefined
  }[]
  #record = -1
  #cells: readonly string[] = []
  #key: string | undefined

  /** @param records of which a file that cannot be read has none; close the view */
  constructor(resource: Resource, records: ReadRecords | undefined) {
    this.#resource = resource
    this.#records = records
    this.#texts = records && new RecordTexts(records.path)
    const fields = resource.hasPrimaryKey ? (resource.keys[0]?.fields ?? []) : []
    this.#keyReaders = fields.flatMap((field) => {
      const definition = resource.fields[field]
      return definition === undefined ? [] : [{ field, ...compileValues(definition) }]
    })
  }

  /** @param record 0 is the header */
  move(record: number): void {
    if (record === this.#record) return
    this.#record = record
    this.#key = undefined
    const { index, file } = this.#records ?? {}
    this.line = index?.lines.get(record) ?? 1
    const hasText = record > 0 || file?.headerOffset !== undefined
    const next = record < (index?.count ?? 0) ? index?.offsets.get(record + 1) : undefined
    this.text = hasText ? (this.#texts?.read(index?.offsets.get(record) ?? 0, next) ?? '') : ''
    this.#cells = record === 0 || index?.faults.has(record) ? [] : this.#split(this.text)
    const { localId, courseCode, studentId } = this.#resource.record
    this.localId = record === 0 ? '' : cut(this.#get(localId), MOST_ID) || String(this.line)
    this.courseCode = cut(this.#get(courseCode), MOST_ID)
    this.studentId = cut(this.#get(studentId), MOST_ID)
  }

  close(): void {
    this.#texts?.close()
  }

  #split(text: string): readonly string[] {
    const { format } = this.#records?.file ?? {}
    if (format?.kind === 'csv') return splitRecord(text, format.separator) ?? []
    const { record = {} } = parseRecord(text)
    return this.#resource.fields.map(({ name, delimiter }) => toCell(record[name], delimiter))
  }

  #get(field: number | undefined): string {
    return field === undefined ? '' : this.cell(field).trim()
  }

  /** The value of a field as the file has it. */
  cell(field: number): string {
    const position = this.#records?.file.columns.positions[field] ?? -1
    return this.#cells[position] ?? ''
  }

  cellOf(name: string | undefined): string {
    if (name === undefined) return ''
    return this.cell(this.#resource.fields.findIndex((field) => field.name === name))
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
