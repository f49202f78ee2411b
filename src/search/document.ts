export type Language = 'en' | 'mi'

/** Where a name comes from, in the order in which equal matches are preferred. */
export const NAME_FIELDS = ['title', 'pluralTitle', 'alternativeTitle', 'searchOnly'] as const
export type NameField = (typeof NAME_FIELDS)[number]

export interface SearchName {
  readonly text: string
  readonly language: Language
  readonly field: NameField
}

export interface SearchGroup {
  readonly code: string
  readonly nameEnglish?: string
  readonly relation: 'Primary' | 'Secondary'
}

/** What the index holds of an occupation. */
export interface SearchDocument {
  readonly code: string
  readonly names: readonly SearchName[]
  /** Description, tasks and the like. */
  readonly texts: readonly { readonly text: string; readonly weight: number }[]
  readonly minorGroups: readonly SearchGroup[]
  readonly majorGroups: readonly SearchGroup[]
}
