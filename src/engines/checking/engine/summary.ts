import type { FileType, Severity } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import type { CheckDescription } from './explain.ts'

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
  /** Files that were there, but are not in the definition. */
  readonly unread: readonly string[]
  /** Files that were recognised, but another one was surer to be meant. */
  readonly spare: readonly SpareFile[]
  /** The codes that found something, in the order of the findings. */
  readonly codes: readonly CodeSummary[]
  /** What to fix, in this order. */
  readonly causes: readonly Cause[]
  /** Exact counts. */
  readonly errors: number
  readonly warnings: number
  /** Checks that could not run, with the reason as a full sentence. */
  readonly notRun: readonly NotRun[]
  /** For how many records a check did not run, because a value that it needs is unknown, by that value's field. */
  readonly undecided: readonly {
    readonly code: string
    /** The resource of the field. */
    readonly file: string
    readonly field: string
    readonly records: number
  }[]
  readonly seconds: number
}

/** A check that could not run. */
export interface NotRun {
  readonly code: string
  readonly reason: string
  /**
   * It was stopped, and what it finds must be fixed or explained: without it, nobody knows whether the files are right.
   * A check whose file or column is absent is not stopped: whether these may be absent is for checks of their own.
   */
  readonly blocks?: true
}

/** A file that was not read, because another one was surer to be meant. */
export interface SpareFile {
  readonly name: string
  /** The name of the resource that both are. */
  readonly resource: string
  /** The name of the file that was read. */
  readonly read: string
}

/** What a cause is about. */
export type CauseKind = 'file' | 'column' | 'value' | 'reference' | 'record' | 'rule'

/** The smallest description of what to fix, with the findings that disappear when it is fixed. */
export interface Cause {
  /** The same for the same cause in another run. */
  readonly key: string
  readonly kind: CauseKind
  /** Error if one of its findings is. */
  readonly severity: Severity
  /** Name of the file to fix. */
  readonly file: string
  readonly field?: string
  readonly value?: string
  /** The codes of its findings. */
  readonly codes: readonly string[]
  /** Exact; every finding belongs to one cause. */
  readonly findings: number
  /** Records among the stored findings. */
  readonly records: number
  /** Distinct students among the stored findings. */
  readonly learners: number
  /** What is wrong, as a full sentence. */
  readonly sentence: string
  /** The same without values of the data, for those who see counts only. */
  readonly general: string
  /** The number of its columns, if several have it. */
  readonly columns?: number
  readonly fix?: string
  /** The first of its findings. */
  readonly example: {
    readonly file: string
    readonly line: number
    readonly field?: string
    readonly value?: string
    readonly description: string
  }
}

/** The note of a file with only its header, of which "No findings" says nothing. */
export const EMPTY_NOTE = 'The file has no records.'

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
  /** What was guessed to read the file, as full sentences. */
  readonly notes: readonly string[]
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

/** A finding: the eight fields of a validation entry, and six for comparison and filters. */
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
  /** The key of its cause. */
  readonly cause?: string
}
