import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { buildIndex } from '../../src/engines/finding/build.ts'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import { fold } from '../../src/engines/finding/fold.ts'
import { openIndex, packIndex } from '../../src/engines/finding/index-file.ts'
import { OccupationSearch } from '../../src/engines/finding/search.ts'
import { singular } from '../../src/engines/finding/stem.ts'

/** Finds the codes of the best occupations. */
export type Find = (query: string, limit: number) => string[]

export function openMahi(documents: readonly SearchDocument[]): { find: Find; search: OccupationSearch } {
  const index = openIndex(packIndex(buildIndex(documents, { revision: 'bench' })))
  if (index === undefined) throw new Error('the index cannot be opened')
  const search = new OccupationSearch(index)
  const find: Find = (query, limit) =>
    search.search({ query, limit }).results.map(({ occupationCode }) => occupationCode)
  return { find, search }
}

const flatten = ({ code, names, texts }: SearchDocument) => ({
  id: code,
  title: names
    .filter(({ field }) => field === 'title')
    .map(({ text }) => text)
    .join('\n'),
  names: names
    .filter(({ field }) => field !== 'title')
    .map(({ text }) => text)
    .join('\n'),
  texts: texts.map(({ text }) => text).join('\n'),
})

/** SQLite's FTS5 with bm25, the words combined with OR. */
export function openFts5(documents: readonly SearchDocument[]): Find {
  const database = new Database(':memory:')
  database.exec(
    `create virtual table f using fts5(code unindexed, title, names, texts, tokenize='porter unicode61 remove_diacritics 2')`,
  )
  const insert = database.prepare('insert into f values (?, ?, ?, ?)')
  for (const document of documents) {
    const { id, title, names, texts } = flatten(document)
    insert.run(id, title, names, texts)
  }
  const find = database.prepare(
    'select code from f where f match ? order by bm25(f, 0, 10, 6, 1), code limit ?',
  )
  return (query, limit) => {
    const words = fold(query)
      .split(' ')
      .filter((word) => word !== '')
    if (words.length === 0) return []
    const match = words.map((word) => `"${word}"`).join(' OR ')
    return (find.all(match, limit) as { code: string }[]).map(({ code }) => code)
  }
}

interface MiniSearchClass {
  new (options: object): { addAll(list: object[]): void; search(query: string): { id: string }[] }
}

/** MiniSearch, tuned: boosts, fuzzy and prefix. `undefined` where `npm ci --prefix bench/peers` has not been run. */
export function openMiniSearch(documents: readonly SearchDocument[]): Find | undefined {
  const require = createRequire(new URL('../peers/package.json', import.meta.url))
  let MiniSearch: MiniSearchClass
  try {
    MiniSearch = require('minisearch') as MiniSearchClass
  } catch {
    return undefined
  }
  const index = new MiniSearch({
    fields: ['title', 'names', 'texts'],
    processTerm: (term: string) => singular(fold(term)) || null,
    searchOptions: {
      boost: { title: 10, names: 6 },
      fuzzy: (term: string) => (term.length > 3 ? 0.2 : false),
      prefix: (_term: string, at: number, all: string[]) => at === all.length - 1,
      maxFuzzy: 2,
    },
  })
  index.addAll(documents.map(flatten))
  return (query, limit) =>
    index
      .search(query)
      .slice(0, limit)
      .map(({ id }) => id)
}
