import type { Reader, Writer } from '../database/database.ts'
import { normaliseText } from '../text/normalise.ts'

export type SearchLanguage = 'en' | 'mi'

/** A name by which an occupation is found, but which no record shows (a hidden label in SKOS). */
export interface SearchOnlyName {
  readonly text: string
  readonly language: SearchLanguage
}

/** The longest search-only name, in characters. */
export const MAX_SEARCH_NAME_LENGTH = 300

export interface NameCounts {
  readonly added: number
  readonly removed: number
}

/**
 * Replaces the search-only names of occupations. Names of codes that are not in the catalogue are kept for later.
 *
 * @param replace remove the names of all other occupations as well
 */
export async function storeSearchNames(
  writer: Writer,
  names: ReadonlyMap<string, readonly SearchOnlyName[]>,
  { replace }: { replace: boolean },
): Promise<NameCounts> {
  const wanted = new Map(
    [...names].map(([code, list]) => [
      code,
      new Set(list.map(({ language, text }) => `${language} ${normaliseText(text)}`)),
    ]),
  )
  let removed = 0
  for (const { code, language, name } of await readSearchNames(writer)) {
    const list = wanted.get(code)
    if (list === undefined && !replace) continue
    if (list?.delete(`${language} ${name}`) === true) continue
    removed += await writer.run(
      'delete from occupation_search_name where code = $1 and language = $2 and name = $3',
      [code, language, name],
    )
  }
  const rows = [...wanted].flatMap(([code, list]) =>
    [...list].map((entry) => [code, entry.slice(0, 2), entry.slice(3)] as const),
  )
  const columns = ['code', 'language', 'name']
  if (rows.length > 0) await writer.load('occupation_search_name', columns, rows)
  return { added: rows.length, removed }
}

export interface SearchNameRow {
  readonly code: string
  readonly language: SearchLanguage
  readonly name: string
}

/** All search-only names, ordered by code. */
export async function readSearchNames(reader: Reader): Promise<SearchNameRow[]> {
  return await reader.all<SearchNameRow>(
    'select code, language, name from occupation_search_name order by code, language, name',
  )
}

/**
 * Replaces the list of synonyms.
 *
 * @param lists phrases of the same meaning
 * @returns whether the list has changed
 */
export async function storeSynonyms(writer: Writer, lists: readonly (readonly string[])[]): Promise<boolean> {
  if (JSON.stringify(await readSynonyms(writer)) === JSON.stringify(lists)) return false
  await writer.run('delete from search_synonym')
  for (const [position, phrases] of lists.entries()) {
    const row = [position, JSON.stringify(phrases)]
    await writer.run('insert into search_synonym (position, phrases) values ($1, $2)', row)
  }
  return true
}

export async function readSynonyms(reader: Reader): Promise<string[][]> {
  const rows = await reader.all<{ phrases: string }>('select phrases from search_synonym order by position')
  return rows.map(({ phrases }) => JSON.parse(phrases) as string[])
}
