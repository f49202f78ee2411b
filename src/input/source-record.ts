import type { Fault } from '../text/user-error.ts'

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
}
