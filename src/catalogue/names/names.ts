import type { Reader, Writer } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { normaliseText } from '../../foundation/text/normalise.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'

export type SearchLanguage = 'en' | 'mi'

/** A name by which an occupation is found, but which no record shows (a hidden label in SKOS). */
export interface SearchOnlyName {
  readonly text: string
  readonly language: SearchLanguage
  readonly weight?: number
  /** Whether a reviewer has confirmed it. */
  readonly confirmed?: boolean
}

/** The longest search-only name, in characters. */
export const MAX_SEARCH_NAME_LENGTH = 300

export interface NameCounts {
  readonly added: number
  readonly removed: number
}

/** The source of names that are imported without one. */
export const IMPORTED = 'imported'

/** The source of the names that reviewers have confirmed. Only their decisions change it. */
const CONFIRMED = 'confirmed'

/** The longest name of a source, in characters. */
export const MAX_SOURCE_LENGTH = 60

/**
 * How much a confirmed name counts in the search beside others. Confirmed titles are those that will be coded next:
 * `bench/search/goals.ts` measures it.
 */
const CONFIRMED_WEIGHT = 3

/** A source of names, such as a list of an employer. */
export interface NameSource {
  readonly source: string
  readonly names: number
  readonly occupations: number
}

/** The names that a source gets, and the stored ones that make room for them. */
export interface NameChanges {
  readonly added: readonly Omit<StoredName, 'source'>[]
  readonly removed: readonly StoredName[]
}

/** Finds what replacing the names of a source changes. Nothing is stored. */
export async function findNameChanges(
  reader: Reader,
  source: string,
  names: ReadonlyMap<string, readonly SearchOnlyName[]>,
): Promise<NameChanges> {
  const wanted = new Map(
    [...names].map(([code, list]) => [
      code,
      new Set(list.map(({ language, text }) => `${language} ${normaliseText(text)}`)),
    ]),
  )
  const removed = (await readStored(reader, source)).filter(
    ({ code, language, name }) => wanted.get(code)?.delete(`${language} ${name}`) !== true,
  )
  const added = [...wanted].flatMap(([code, list]) =>
    [...list].map((entry) => ({
      code,
      language: entry.slice(0, 2) as SearchLanguage,
      name: entry.slice(3),
    })),
  )
  return { added, removed }
}

/**
 * Stores changes that were found in the same transaction.
 *
 * @throws {UserError} if another source has nearly the same name
 */
export async function storeNameChanges(
  writer: Writer,
  source: string,
  { added, removed }: NameChanges,
): Promise<NameCounts> {
  await assertDistinct(writer, source)
  for (const row of removed) {
    await writer.run(
      'delete from search_name where code = $1 and language = $2 and name = $3 and source = $4',
      [row.code, row.language, row.name, row.source],
    )
  }
  const rows = added.map(({ code, language, name }) => [code, language, name, source] as const)
  const columns = ['code', 'language', 'name', 'source']
  if (rows.length > 0) await writer.load('search_name', columns, rows)
  return { added: added.length, removed: removed.length }
}

/**
 * Stores the search-only names of a source, in place of those that it had. Names that other sources have too are stored for each of them.
 *
 * @throws {UserError} if another source has nearly the same name
 */
export async function storeSearchNames(
  writer: Writer,
  source: string,
  names: ReadonlyMap<string, readonly SearchOnlyName[]>,
): Promise<NameCounts> {
  return await storeNameChanges(writer, source, await findNameChanges(writer, source, names))
}

const keyOf = (source: string) =>
  source
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '')

/** Two names of sources that differ only in case or spaces would be taken for one another. */
const areSimilar = (one: string, other: string) => keyOf(one) === keyOf(other)

/** @throws {UserError} for the source that only decisions of reviewers change */
export function assertImportable(source: string): void {
  if (!areSimilar(source, CONFIRMED)) return
  throw new UserError(
    `The source ${quote(CONFIRMED)} has the names that reviewers confirmed: "mahi occupations codings" and the console change them`,
  )
}

/** @throws {UserError} if the name of the source hardly differs from that of another one */
async function assertDistinct(reader: Reader, source: string): Promise<void> {
  const similar = (await listSources(reader)).find(
    (other) => other.source !== source && areSimilar(other.source, source),
  )
  if (similar === undefined) return
  throw new UserError(
    `There is a source ${quote(similar.source)}, from which ${quote(source)} hardly differs: use the same name, or a clearly different one`,
  )
}

/** The sources in alphabetical order. */
export async function listSources(reader: Reader): Promise<NameSource[]> {
  return await reader.all<NameSource>(
    `select source, count(*) as names, count(distinct code) as occupations
     from search_name group by source order by source`,
  )
}

/** @throws {UserError} naming the sources that there are */
export async function assertSource(reader: Reader, source: string): Promise<void> {
  const names = (await listSources(reader)).map((each) => each.source)
  if (names.includes(source)) return
  const known =
    names.length === 0 ? 'there are none' : `the sources are ${names.map((name) => quote(name)).join(', ')}`
  throw new UserError(`There is no source ${quote(source)}${suggest(source, names)}; ${known}`)
}

/** @returns the number of removed names */
export async function removeSource(writer: Writer, source: string): Promise<number> {
  assertImportable(source)
  await assertSource(writer, source)
  return await writer.run('delete from search_name where source = $1', [source])
}

export interface StoredName {
  readonly code: string
  readonly language: SearchLanguage
  readonly name: string
  readonly source: string
}

/** The names of one source or all of them, ordered by code. */
export async function readStored(reader: Reader, source?: string): Promise<StoredName[]> {
  return await reader.all<StoredName>(
    `select code, language, name, source from search_name ${source === undefined ? '' : 'where source = $1'}
     order by code, language, name, source`,
    source === undefined ? [] : [source],
  )
}

/** The titles that reviewers agree about, as names of the codes that the catalogue has. */
const AGREED = `
  select agreed.code, newest.language, newest.title
  from (
    select title_key, min(code) as code from confirmed_coding where code is not null
    group by title_key having count(distinct code) = 1
  ) agreed
  join (
    select title_key, language, title,
      row_number() over (partition by title_key order by decided desc, reviewer) as place
    from confirmed_coding
  ) newest on newest.title_key = agreed.title_key and newest.place = 1
  join occupation on occupation.code = agreed.code`

/**
 * Makes the confirmed titles the names of their source. Each revision of the catalogue does so, and nothing else
 * changes names between two revisions: the index of a revision has the same names whenever it is built.
 */
export async function learnConfirmed(writer: Writer): Promise<NameCounts> {
  const removed = await writer.run(
    `delete from search_name where source = $1 and (code, language, name) not in (${AGREED})`,
    [CONFIRMED],
  )
  const added = await writer.run(
    `insert into search_name (code, language, name, source)
     select code, language, title, $1 from (${AGREED}) confirmed where true
     on conflict (code, language, name, source) do nothing`,
    [CONFIRMED],
  )
  return { added, removed }
}

export interface SearchNameRow {
  readonly code: string
  readonly language: SearchLanguage
  readonly name: string
  /** How much it counts beside others, which have weight 1. */
  readonly weight: number
  readonly confirmed: boolean
}

/** The search-only names of a range of codes, ordered by code, each once. */
export async function readSearchNames(
  reader: Reader,
  { after, upTo }: { readonly after: string; readonly upTo: string },
): Promise<SearchNameRow[]> {
  const rows = await reader.all<Omit<SearchNameRow, 'confirmed' | 'weight'> & { confirmed: number }>(
    `select code, language, name, max(case when source = $3 then 1 else 0 end) as confirmed
     from search_name where code > $1 and code <= $2
     group by code, language, name order by code, language, name`,
    [after, upTo, CONFIRMED],
  )
  return rows.map(({ confirmed, ...row }) => ({
    ...row,
    weight: confirmed === 1 ? CONFIRMED_WEIGHT : 1,
    confirmed: confirmed === 1,
  }))
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
