import type { Check, Resource } from '../definition/definition.ts'
import type { FileFault } from './file-fault.ts'
import { Found } from './found.ts'
import type { PreparedFile } from './prepare-file.ts'
import { type OpenFile, openFile } from './read-file.ts'
import { type ReadRecords, RecordView } from './record-view.ts'
import type { InputFile } from './request.ts'
import { EMPTY_NOTE, type FileSummary } from './summary.ts'

/** Records whose values say how frequent a value is in a file. */
const SAMPLED = 200

/** Finds the file of a resource by its name. */
export type FileOf = (resource: string) => FileState

/** All that is known of one file of a check: its form, its records, and what was found in it. */
export class FileState {
  readonly resource: Resource
  readonly found: Found
  /** The file; absent if it is missing. */
  input: InputFile | undefined
  prepared: PreparedFile | undefined
  /** The file once its header is read, while it can be read. */
  open: OpenFile | undefined
  /** Its records once they are read. */
  records: ReadRecords | undefined
  /** Why it has no records. */
  absence: string | undefined
  /** The findings of the whole file, in order, by check. */
  readonly fileFaults = new Map<Check, FileFault[]>()

  #sample: readonly (readonly string[])[] | undefined

  /** @param cap the most findings of a check that are kept */
  constructor(resource: Resource, cap: number) {
    this.resource = resource
    this.found = new Found(resource.checks.length, cap)
  }

  /** Its name in findings. */
  get name(): string {
    return this.input?.name ?? this.resource.path
  }

  /** The number of its records, without rows that are no records. */
  get count(): number {
    const { count = 0, noRecords = 0 } = this.records?.index ?? {}
    return count - noRecords
  }

  countValues(field: number): number {
    const { broken = 0, empty = [] } = this.records?.index ?? {}
    return this.count - broken - (empty[field] ?? 0)
  }

  /** Reads records again, in ascending order. */
  read(work: (view: RecordView) => void): void {
    const view = new RecordView(this.resource, this.records)
    try {
      work(view)
    } finally {
      view.close()
    }
  }

  /** Values of some records, spread over all of the file. */
  get sample(): readonly (readonly string[])[] {
    if (this.#sample !== undefined) return this.#sample
    const sample: string[][] = []
    const records = this.records?.index.count ?? 0
    const step = Math.max(1, Math.floor(records / SAMPLED))
    this.read((view) => {
      for (let record = 1; record <= records; record += step) {
        view.move(record)
        sample.push(this.resource.fields.map((_, field) => view.cell(field)))
      }
    })
    this.#sample = sample
    return sample
  }

  /** Reads all records again. What cannot be read says nothing. */
  scan(visit: (cell: (field: number) => string) => void): void {
    if (this.prepared === undefined || this.records === undefined) return
    const file = openFile(this.prepared, this.name, this.resource)
    const { reader, columns } = file
    const cell = (field: number) => reader.cells[columns.positions[field] ?? -1] ?? ''
    while (reader.next()) if (reader.fault === undefined && reader.count === columns.width) visit(cell)
    file.close()
  }

  /** @param position of the check, or -1 if it does not run */
  addFaults(check: Check, position: number, faults: readonly FileFault[]): void {
    this.fileFaults.set(check, [...(this.fileFaults.get(check) ?? []), ...faults])
    if (position !== -1) for (const _ of faults) this.found.add(position, 0)
  }

  summarise(): FileSummary {
    const { resource, name, input, prepared, records } = this
    const { notes = [], bytes = 0, sha256, encoding } = prepared ?? {}
    const count = records?.index.count ?? 0
    const read = records && [...notes, ...records.file.columns.notes, ...(count === 0 ? [EMPTY_NOTE] : [])]
    return {
      resource: resource.name,
      fileType: resource.fileType,
      file: name,
      state: input === undefined ? 'missing' : records === undefined ? 'unreadable' : 'checked',
      bytes,
      records: count,
      sha256,
      encoding,
      notes: read ?? [],
    }
  }
}
