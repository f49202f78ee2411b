import { SEPARATORS, splitRecord } from '../engines/records/index.ts'

/** A title of a list, with what was chosen for it. */
export interface ListedTitle {
  readonly title: string
  /** How certain its likeliest code is; 0 without one. */
  readonly certainty: number
  /** Its likeliest code. */
  readonly code?: string
  /** The code that a person has chosen; empty if none fits. */
  readonly choice?: string
  /** Whether the choice is to be confirmed. */
  readonly reviewed?: true
  /** Whether the choice has been confirmed. */
  readonly confirmed?: true
}

/** A list of titles whose codes a person chooses. */
export interface TitleList {
  /** The titles in the order of the list, as they were written. */
  readonly lines: readonly string[]
  /** Each title once, the least certain first. */
  readonly titles: readonly ListedTitle[]
  /** From which certainty on the likeliest code is taken, in percent. */
  readonly threshold: number
}

/** The longest title that can be coded. */
export const LONGEST_TITLE = 300

/** What a column of titles is called. */
const TITLES =
  /^(?:job[\s_-]*|occupation[\s_-]*|position[\s_-]*)?titles?$|^(?:job|occupation|position|role)$/i

/** The titles of a text: one a line, or those of the column of a table that is named so. */
export function readTitles(text: string): readonly string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)
  const [first = ''] = lines
  for (const separator of SEPARATORS) {
    const column = (splitRecord(first, separator) ?? []).findIndex((name) => TITLES.test(name.trim()))
    if (column >= 0) return toTitles(lines.slice(1).map((line) => cellOf(line, separator, column)))
  }
  return toTitles(lines)
}

const toTitles = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.trim()).filter((line) => line !== '')

const cellOf = (line: string, separator: string, column: number): string =>
  (splitRecord(line, separator) ?? line.split(separator))[column] ?? ''

/** Titles with one key are one title. */
export const keyOf = (title: string): string =>
  title.normalize('NFKC').trim().toLowerCase().replaceAll(/\s+/g, ' ')

/** The code of a title: the one that was chosen, or the likeliest if that is certain enough. */
export function codeOf({ choice, code, certainty }: ListedTitle, threshold: number): string {
  return choice ?? (certainty * 100 >= threshold ? (code ?? '') : '')
}

/** Whether a person still has to choose. */
export const isOpen = ({ choice, certainty }: ListedTitle, threshold: number): boolean =>
  choice === undefined && certainty * 100 < threshold
