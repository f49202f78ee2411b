import { pageNumbers } from '../api/contract/fields.ts'
import { Type } from '../foundation/schema/type.ts'

/** The query of lists that are read by page number. */
export const PAGE_QUERY = Type.Object(pageNumbers('Entries', { default: 20, max: 100 }))
