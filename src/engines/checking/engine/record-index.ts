import { NumberList } from '../../../foundation/text/interner.ts'
import type { RecordFault } from '../../records/index.ts'

/** The positions of a file's records, and the faults of unreadable ones. */
export class RecordIndex {
  /** By record number from 1; entry 0 is that of the header. */
  readonly offsets = new NumberList()
  readonly lines: NumberList = new NumberList(Int32Array)
  /** The fault of a record that cannot be read. */
  readonly faults = new Map<number, RecordFault>()
  /** All rows below the header, also those that are no records. */
  count = 0
  /** Rows that are no records, such as empty ones. */
  noRecords = 0
  /** Records that cannot be read. */
  broken = 0
  /** The cells without a value of each field, in the records that can be read. */
  readonly empty: number[]

  constructor(headerOffset: number, headerLine: number, fields: number) {
    this.empty = new Array(fields).fill(0)
    this.offsets.push(headerOffset)
    this.lines.push(headerLine)
  }

  add(offset: number, line: number): number {
    this.offsets.push(offset)
    this.lines.push(line)
    return ++this.count
  }
}
