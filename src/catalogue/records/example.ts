import { readSample } from '../../foundation/package/samples.ts'

const [record] = readSample('occupations.ndjson', 1)

/** A response of the demo, for the API reference. */
export const EXAMPLE_PAGE = {
  nextCursor: 'A0102',
  currentCursor: 'A0101',
  totalCount: 42,
  data: [{ ...record, lastUpdatedDate: '2026-01-31T09:30:00.000Z' }],
  resultsCount: 1,
}
