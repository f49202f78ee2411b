import type {
  MinorGroup,
  OccupationRecord as Occupation,
  OccupationPage,
  Renumeration as Pay,
} from '../../client/src/types.ts'

export type { Occupation, OccupationPage, Pay }

/** The name to display. */
export function nameOf({
  titleEnglish,
  titleMaori,
  occupationCode,
}: Pick<Occupation, 'titleEnglish' | 'titleMaori' | 'occupationCode'>): string {
  return titleEnglish ?? titleMaori ?? occupationCode ?? ''
}

/** The Primary minor group of a record. */
export function primaryGroup({ minorGroups = [] }: Occupation): MinorGroup | undefined {
  return (minorGroups.find((each) => each.minorGroupRelationType === 'Primary') ?? minorGroups[0])?.minorGroup
}
