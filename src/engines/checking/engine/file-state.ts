import type { Check, Resource } from '../definition/definition.ts'
import type { RecordIndex } from './check-resource.ts'
import type { FileFault } from './file-fault.ts'
import { Found } from './found.ts'
import type { PreparedFile } from './prepare-file.ts'
import type { OpenFile } from './read-file.ts'
import { EMPTY_NOTE, type FileSummary } from './summary.ts'

/** A file to check. */
export interface InputFile {
  /** Name of its resource. */
  readonly resource: string
  readonly path: string
  /** File name in findings, such as `enrolments.csv`; its extension determines the format. */
  readonly name: string
  /** What is known to be wrong with it before it is read. */
  readonly faults?: readonly FileFault[]
}

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
  records: { readonly path: string; readonly file: OpenFile; readonly index: RecordIndex } | undefined
  /** Why it has no records. */
  absence: string | undefined
  /** The findings of the whole file, in order, by check. */
  readonly fileFaults = new Map<Check, FileFault[]>()

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

  /** The number of all findings of a check. */
  countFound(check: Check): number {
    return this.found.counts[this.resource.checks.indexOf(check)] ?? 0
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
