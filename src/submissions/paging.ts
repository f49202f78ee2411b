import Type from 'typebox'
import { withDefault } from '../api/contract/fields.ts'

const MAX_PAGE_SIZE = 100

/** The query of lists that are read by page number. */
export const PAGE_QUERY = Type.Object({
  page: withDefault(
    Type.Integer({
      description: 'Page number, from 1.',
      minimum: 1,
      maximum: 1_000_000,
      format: 'int32',
    }),
    1,
  ),
  pageSize: withDefault(
    Type.Integer({
      description: `Entries per page, from 1 to ${MAX_PAGE_SIZE}.`,
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      format: 'int32',
    }),
    20,
  ),
})
