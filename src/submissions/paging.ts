import Type from 'typebox'
import { pageNumbers } from '../api/contract/fields.ts'

/** The query of lists that are read by page number. */
export const PAGE_QUERY = Type.Object(pageNumbers('Entries', { default: 20, max: 100 }))
