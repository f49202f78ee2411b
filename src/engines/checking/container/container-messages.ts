import type { Definition } from '../definition/definition.ts'

/** The message to the process that opens an archive or a workbook. */
export interface ContainerOrder {
  readonly path: string
  readonly definition: Definition
  /** The only file that it must contain, whatever the name of that. */
  readonly only: string | undefined
  readonly unpackedBytes: number
}

/** What an archive or a workbook contains. */
export interface OpenedContainer {
  /** The files of the definition, in its order, with their names such as `archive.zip/learners.csv`. */
  readonly files: readonly { readonly resource: string; readonly path: string; readonly name: string }[]
  /** Which files were recognised by another name, and which were not read, as full sentences. */
  readonly notes: readonly string[]
}
