import { readSample } from '../../foundation/package/samples.ts'
import type { Static } from '../../foundation/schema/type.ts'
import type { OccupationGroups } from '../groups/schema.ts'

const [record] = readSample('occupations.ndjson', 1)

/** A response of the demo, for the API reference. */
export const EXAMPLE_PAGE = {
  nextCursor: 'A0102',
  currentCursor: 'A0101',
  totalCount: 42,
  data: [{ ...record, lastUpdatedDate: '2026-01-31T09:30:00.000Z' }],
  resultsCount: 1,
}

/** A response of the demo with groups, for the API reference. */
export const EXAMPLE_GROUPS: Static<typeof OccupationGroups> = {
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
