import type { Definition } from '../definition/definition.ts'
import type { FileFault } from './file-fault.ts'
import type { SpareFile } from './summary.ts'

/** A file to check on disk. */
export interface InputFile {
  /** Name of the resource in the definition, such as `enrolments`. */
  readonly resource: string
  readonly path: string
  /** The name in findings. Its extension determines the format: `.csv` or `.ndjson`, with or without `.gz`. */
  readonly name: string
  /** What is known to be wrong with it before it is read. */
  readonly faults?: readonly FileFault[]
}

export interface CheckRequest {
  readonly definition: Definition
  readonly files: readonly InputFile[]
  /** Whether a missing file is a finding. Otherwise, only the rules that need the file are skipped. */
  readonly complete?: boolean
  /** Files that were there, but are not in the definition. */
  readonly unread?: readonly string[]
  /** Files that were recognised, but another one is surer to be meant. */
  readonly spare?: readonly SpareFile[]
  /** ID of the return, such as 202512; by default that of the definition. */
  readonly returnId?: string | undefined
  /** Date on which codes and rules apply; by default the end of the return's month. */
  readonly asOf?: string | undefined
  /** The codes to check; all if empty. */
  readonly only?: readonly string[]
}
