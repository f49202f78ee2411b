/** A record as it was read, before anything about its shape has been checked. */
export interface SourceRecord {
  /** The file as the user named it; `-` is standard input. */
  readonly file: string
  /** From 1: the line on which the record starts. */
  readonly line: number
  readonly value: unknown
}
