import { int32Count, listOf, oneOf, text } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { MajorGroup, MinorGroup } from '../records/schema.ts'

const COUNTS = {
  primaryCount: int32Count('Occupations whose Primary group this is.'),
  totalCount: int32Count('Occupations that belong to the group, Primary or Secondary.'),
}

export const CountedMajorGroup = Type.Object(
  { ...MajorGroup.properties, ...COUNTS },
  { title: 'OccupationMajorGroup', description: 'A major group, with the number of its occupations.' },
)
export type CountedMajorGroup = Static<typeof CountedMajorGroup>

export const CountedMinorGroup = Type.Object(
  {
    ...MinorGroup.properties,
    majorGroups: Type.Optional(
      Type.Array(
        Type.Object(
          {
            majorGroupRelationType: oneOf(
              ['Primary', 'Secondary'],
              'How the major group belongs to the minor group.',
            ),
            majorGroupCode: text('The code of the major group.'),
          },
          { description: 'The code of a major group of a minor group, and how they are related.' },
        ),
        { description: 'The codes of its major groups, and how they are related.' },
      ),
    ),
    ...COUNTS,
  },
  { title: 'OccupationMinorGroup', description: 'A minor group, with the number of its occupations.' },
)
export type CountedMinorGroup = Static<typeof CountedMinorGroup>

export const OccupationGroups = Type.Object(
  {
    majorGroups: listOf(CountedMajorGroup, 'The major groups.'),
    minorGroups: listOf(CountedMinorGroup, 'The minor groups.'),
  },
  { title: 'OccupationGroups', description: 'Major and minor groups, by code.' },
)
export interface OccupationGroups {
  readonly majorGroups: CountedMajorGroup[]
  readonly minorGroups: CountedMinorGroup[]
}

/** A response of the demo with groups, for the API reference. */
export const EXAMPLE_GROUPS: OccupationGroups = {
  majorGroups: [{ code: '1', nameEnglish: 'Education', primaryCount: 6, totalCount: 7 }],
  minorGroups: [
    {
      code: '11',
      nameEnglish: 'Teaching',
      majorGroups: [{ majorGroupRelationType: 'Primary', majorGroupCode: '1' }],
      primaryCount: 4,
      totalCount: 5,
    },
  ],
}
