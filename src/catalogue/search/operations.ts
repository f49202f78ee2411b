import type { Operation } from '../../api/contract/contract.ts'
import type { PageCache } from '../../api/serving/page-cache.ts'
import { codeTitles } from './code-titles.ts'
import type { CodingThreads } from './coding-threads.ts'
import type { LiveIndex } from './live-index.ts'
import { searchOccupations } from './search-occupations.ts'
import { suggestOccupations } from './suggest-occupations.ts'

export interface SearchOptions {
  readonly index: LiveIndex
  readonly coding: CodingThreads
  readonly pages: PageCache
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** The path of the search, for links. */
  readonly path: string
}

export function searchOperations(options: SearchOptions): readonly Operation[] {
  options.index.onChange(() => options.pages.clear())
  return [searchOccupations(options), suggestOccupations(options), codeTitles(options)]
}
