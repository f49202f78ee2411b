import type { Fault } from '../../foundation/faults/user-error.ts'

/** A record as read, before its shape is checked. */
export interface SourceRecord {
  /** The file as the user named it; `-` is standard input. */
  readonly file: string
  /** The line on which the record starts, from 1. */
  readonly line: number
  readonly value: unknown
  /** Whether a number has more digits than a double can hold, so that its value was changed. */
  readonly inexact?: boolean
  /** Faults found while reading text into fields; these fields are absent from the value. */
  readonly faults?: readonly Fault[]
  /** Why the row of a table is probably not meant as a record, as a full sentence. */
  readonly doubt?: string
  /** Finds the place of a field in the user's own table; absent if the input is no table. */
  readonly locate?: Locate
  /** The same for any record of the same table, by its line, as far as the header shows it. */
  readonly locateLater?: LocateLater
}

/** Finds the column and the cell of a field such as `altJobTitlesEnglish[1]`; neither, where no cell holds it. */
export type Locate = (field: string) => Pick<Fault, 'column' | 'cell'>

type LocateLater = (field: string, line: number) => Pick<Fault, 'column' | 'cell'>
