import Database from 'better-sqlite3'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import { fold } from '../../src/engines/finding/fold.ts'
import { openIndex } from '../../src/engines/finding/index-file.ts'
import { OccupationSearch } from '../../src/engines/finding/search.ts'
import { buildIndex, packIndex } from '../../test/support/search-index.ts'

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

/** Character n-grams: the cosine of TF-IDF vectors of 3- and 4-grams, of the query and of the best name. */
export function openNgrams(documents: readonly SearchDocument[]): Find {
  const postings = new Map<string, { name: number; count: number }[]>()
  const owners: string[] = []
  for (const { code, names } of documents) {
    for (const { text } of names) {
      const name = owners.push(code) - 1
      for (const [gram, count] of countGrams(text)) {
        const list = postings.get(gram) ?? []
        list.push({ name, count })
        postings.set(gram, list)
      }
    }
  }
  const rarity = (gram: string) => Math.log(1 + owners.length / (postings.get(gram)?.length ?? 1))
  const lengths = new Float64Array(owners.length)
  for (const [gram, list] of postings) {
    for (const { name, count } of list) lengths[name] = (lengths[name] ?? 0) + (count * rarity(gram)) ** 2
  }
  return (query, limit) => {
    const scores = new Map<number, number>()
    for (const [gram, count] of countGrams(query)) {
      const weight = count * rarity(gram) ** 2
      for (const { name, count: other } of postings.get(gram) ?? [])
        scores.set(name, (scores.get(name) ?? 0) + weight * other)
    }
    const best = new Map<string, number>()
    for (const [name, score] of scores) {
      const code = owners[name] ?? ''
      best.set(code, Math.max(best.get(code) ?? 0, score / Math.sqrt(lengths[name] ?? 1)))
    }
    return [...best]
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
      .slice(0, limit)
      .map(([code]) => code)
  }
}

function countGrams(text: string): Map<string, number> {
  const line = ` ${fold(text)} `
  const counts = new Map<string, number>()
  for (const size of [3, 4]) {
    for (let at = 0; at + size <= line.length; at++) {
      const gram = line.slice(at, at + size)
      counts.set(gram, (counts.get(gram) ?? 0) + 1)
    }
  }
  return counts
}
