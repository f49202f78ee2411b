import { readSample } from '../../foundation/package/samples.ts'

/** A response of the demo, for the API reference. */
export const EXAMPLE_PAGE = {
  page: 1,
  pageSize: 2,
  results: readSample('validation-results.ndjson', 2),
  totalCount: 258,
}

/** An example of the extended 400 of section 2.10 of the interface, for the API reference. */
export const EXAMPLE_BAD_REQUEST = {
  schemaName: 'ResultsProblem',
  detail: 'pageSize must be a whole number from 1 to 1000, not "5000".',
  members: {
    errors: { pageSize: ['pageSize must be a whole number from 1 to 1000, not "5000".'] },
    returnId: 'SAMPLE-2025',
    submissionToken: 'sample-submission',
    content: { page: '1', pageSize: '5000' },
    errorCode: 'PR1',
  },
}
