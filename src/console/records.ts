/** An occupation record from `/v1`; every field is optional (section 2.2 of the interface). */
export interface Occupation {
  readonly occupationCode?: string
  readonly titleEnglish?: string
  readonly titleMaori?: string
  readonly titlePluralEnglish?: string
  readonly titlePluralMaori?: string
  readonly altJobTitlesEnglish?: readonly string[]
  readonly altJobTitlesMaori?: readonly string[]
  readonly descriptionEnglish?: string
  readonly descriptionMaori?: string
  readonly kaupapaDescriptionEnglish?: string
  readonly kaupapaDescriptionMaori?: string
  readonly detailedWorkActivitiesEnglish?: readonly string[]
  readonly detailedWorkActivitiesMaori?: readonly string[]
  readonly trainingDuration?: string
  readonly lifeOnTheJobEnglish?: readonly string[]
  readonly lifeOnTheJobMaori?: readonly string[]
  readonly entryRequirements?: Readonly<Record<string, string | readonly string[]>>
  readonly minorGroups?: readonly MinorGroupRelation[]
  readonly renumeration?: Pay
  readonly registrationAuthority?: Readonly<Record<string, string>>
  readonly lastUpdatedDate?: string
}

export interface MinorGroupRelation {
  readonly minorGroupRelationType?: 'Primary' | 'Secondary'
  readonly minorGroup?: MinorGroup
}

export interface MinorGroup {
  readonly code?: string
  readonly nameEnglish?: string
  readonly nameMaori?: string
  readonly descriptionEnglish?: string
  readonly tasks?: readonly string[]
  readonly majorGroups?: readonly {
    readonly majorGroupRelationType?: 'Primary' | 'Secondary'
    readonly majorGroup?: Omit<MinorGroup, 'tasks' | 'majorGroups'>
  }[]
}

/** Annual amounts at the 10th, 25th, 75th and 90th percentile. */
export interface Pay {
  readonly payLowerBound?: number
  readonly payMidLowerBound?: number
  readonly payMidUpperBound?: number
  readonly payUpperBound?: number
}

export interface OccupationPage {
  readonly nextCursor?: string
  readonly currentCursor?: string
  readonly totalCount?: number
  readonly data?: readonly Occupation[]
}

/** The name to display. */
export function nameOf({ titleEnglish, titleMaori, occupationCode }: Occupation): string {
  return titleEnglish ?? titleMaori ?? occupationCode ?? ''
}

/** The Primary minor group of a record. */
export function primaryGroup({ minorGroups = [] }: Occupation): MinorGroup | undefined {
  return (minorGroups.find((each) => each.minorGroupRelationType === 'Primary') ?? minorGroups[0])?.minorGroup
}
