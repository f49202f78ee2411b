/** What is wrong with a file as a whole, or with its header. */
export interface FileFault {
  /** A full sentence, which may say what to do. */
  readonly message: string
  readonly field?: string
  /** What to do, unless the message says it. */
  readonly fix?: string
  /** What makes it one cause with others, or another cause than they are. */
  readonly group?: string
}

/** What to do with a file that is there and cannot be read. */
export const EXPORT_AGAIN =
  'Export the file again as CSV in UTF-8, with the names of its columns in the first line.'
