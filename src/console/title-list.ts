import type { Layout } from './title-table.ts'

/** An occupation that a title may mean. */
export interface Candidate {
  readonly occupationCode: string
  readonly titleEnglish?: string | undefined
  /** Absent if a person has named the occupation. */
  readonly certainty?: number
}

/** A title of a list, with what was chosen for it. */
export interface ListedTitle {
  readonly title: string
  /** Why it is not coded: a clause with the title as its subject. */
  readonly fault?: string
  /** The likeliest occupations, best first; none if the title means nothing to the catalogue. */
  readonly candidates: readonly Candidate[]
  /** The name of the likeliest group, where no occupation is likely enough. */
  readonly group?: string | undefined
  /** The occupation that a person has chosen; `null` if none of the candidates fits. */
  readonly choice?: Candidate | null
  /** Whether the choice is to be confirmed. */
  readonly reviewed?: true
  /** Whether the choice has been confirmed. */
  readonly confirmed?: true
}

/** A list of titles whose codes a person chooses. */
export interface TitleList {
  /** The name of its file, or its first title. */
  readonly name: string
  /** When it was begun, as RFC 3339. */
  readonly begun: string
  /** As it was pasted or sent. */
  readonly text: string
  readonly layout: Layout
  /** How many of its rows have a title. */
  readonly count: number
  /** Each title once, the least certain first, and those without a candidate last. */
  readonly titles: readonly ListedTitle[]
  /** From which certainty on the likeliest code is taken, in percent. */
  readonly threshold: number
}

/** Titles with one key are one title. */
export const keyOf = (title: string): string => title.normalize('NFKC').toLowerCase()

/** The certainty of the likeliest code; 0 without one. */
export const certaintyOf = ({ candidates }: ListedTitle): number => candidates[0]?.certainty ?? 0

/** The occupation of a title: the one that was chosen, or the likeliest if that is certain enough. */
export function occupationOf(listed: ListedTitle, threshold: number): Candidate | undefined {
  const { choice, candidates } = listed
  if (choice !== undefined) return choice ?? undefined
  return certaintyOf(listed) * 100 >= threshold ? candidates[0] : undefined
}

/** `open` if a person still has to choose: a title without a candidate leaves nothing to choose. */
export function stateOf(listed: ListedTitle, threshold: number): 'open' | 'coded' | 'none' {
  if (occupationOf(listed, threshold) !== undefined) return 'coded'
  return listed.choice === undefined && listed.candidates.length > 0 ? 'open' : 'none'
}
