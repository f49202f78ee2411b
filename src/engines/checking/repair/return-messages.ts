import type { CheckRequest } from '../check-files.ts'
import type { Definition } from '../definition/definition.ts'
import type { CheckSummary } from '../engine/summary.ts'

/** The message to the process that marks or corrects files. */
export interface ReturnOrder {
  readonly form: 'workbook' | 'marked' | 'corrected' | 'repaired'
  readonly request: CheckRequest & { readonly definition: Definition }
  /** The folder of the copies. */
  readonly output: string
  /** What the check of the files has found, for marked copies. */
  readonly checked?: { readonly summary: CheckSummary; readonly findings: string } | undefined
}
