export type Language = 'en' | 'mi'

/** The source of a name, in order of preference among equal matches. */
export const NAME_FIELDS = ['title', 'pluralTitle', 'alternativeTitle', 'searchOnly'] as const
export type NameField = (typeof NAME_FIELDS)[number]

export interface SearchName {
  readonly text: string
  readonly language: Language
  readonly field: NameField
  /** How much the name counts beside the others; 1 by default. */
  readonly weight?: number
  /** Whether a person has decided that it means this occupation. */
  readonly confirmed?: boolean
}

export interface SearchGroup {
  readonly code: string
  readonly nameEnglish?: string
  readonly relation: 'Primary' | 'Secondary'
}

/** An occupation as indexed. */
export interface SearchDocument {
  readonly code: string
  readonly names: readonly SearchName[]
  /** Description, tasks and the like. */
  readonly texts: readonly { readonly text: string; readonly weight: number }[]
  readonly minorGroups: readonly SearchGroup[]
  readonly majorGroups: readonly SearchGroup[]
}
