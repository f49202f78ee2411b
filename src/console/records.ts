import type {
  MinorGroup,
  OccupationRecord as Occupation,
  OccupationPage,
  Renumeration as Pay,
} from '../../client/src/types.ts'
import { findTextFault } from '../foundation/text/normalise.ts'

/** What may be a code, and is one item of a list of codes. */
export const isCode = (text: string): boolean =>
  /^[^,]{1,64}$/.test(text) && findTextFault(text) === undefined

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
