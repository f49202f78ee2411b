import type { FileType, Severity } from '../definition/definition.ts'
import type { CheckDescription } from '../explain.ts'
import type { Parameters } from '../parameters.ts'

/** What a check has found and how: everything but the findings themselves. */
export interface CheckSummary {
  readonly definition: {
    readonly name: string
    readonly version: string
    readonly title: string
    readonly notice: string | undefined
  }
  readonly parameters: Parameters
  readonly files: readonly FileSummary[]
  /** The codes that found something, in the order of the findings. */
  readonly codes: readonly CodeSummary[]
  /** Exact counts. */
  readonly errors: number
  readonly warnings: number
  /** Checks that could not run, with the reason as a full sentence. */
  readonly notRun: readonly { readonly code: string; readonly reason: string }[]
  readonly seconds: number
}

export interface FileSummary {
  /** Name of the resource. */
  readonly resource: string
  readonly fileType: FileType
  /** Name of the file as findings show it. */
  readonly file: string
  readonly state: 'checked' | 'missing' | 'unreadable'
  readonly bytes: number
  readonly records: number
  readonly sha256: string | undefined
  readonly encoding: string | undefined
}

export interface CodeSummary extends CheckDescription {
  readonly severity: Severity
  /** Exact. */
  readonly count: number
  /** How many of them are in the findings; fewer than `count` beyond the cap. */
  readonly stored: number
  /** Distinct students among the stored findings. */
  readonly students: number
  readonly firstLine: number | undefined
}

/** A finding: the eight fields of a validation entry, and five for comparison and filters. */
export interface Finding {
  readonly localId?: string
  readonly errorCode: string
  readonly errorDescription: string
  readonly errorType: Severity
  readonly fileType: FileType
  readonly courseCode?: string
  readonly studentId?: string
  readonly recordText?: string
  readonly file: string
  /** From 1; the line on which the record starts. */
  readonly line: number
  readonly field?: string
  readonly value?: string
  /** The same for the same finding in another run, wherever the record is in its file. */
  readonly findingKey: string
}
