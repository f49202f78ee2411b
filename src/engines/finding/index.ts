export { IndexBuilder } from './build.ts'
export { type Coding, type CodingItem, codeTitle } from './coding.ts'
export {
  type Language,
  NAME_FIELDS,
  type NameField,
  type SearchDocument,
  type SearchGroup,
  type SearchName,
} from './document.ts'
export type { IndexData } from './index-data.ts'
export { INDEX_FORMAT, listPieces, openIndex } from './index-file.ts'
export { OccupationSearch } from './search.ts'
