import type { Fault } from '../text/user-error.ts'

/** A record as it was read, before anything about its shape has been checked. */
export interface SourceRecord {
  /** The file as the user named it; `-` is standard input. */
  readonly file: string
  /** From 1: the line on which the record starts. */
  readonly line: number
  readonly value: unknown
  /** Whether a number had more digits than a double holds, so that the value differs from what was written. */
  readonly inexact?: boolean
  /** What is wrong with its fields already as text; those fields are absent from the value. */
  readonly faults?: readonly Fault[]
}
