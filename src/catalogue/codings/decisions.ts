import { hash } from 'node:crypto'
import type { Reader, Writer } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { normaliseText } from '../../foundation/text/normalise.ts'
import type { SearchLanguage } from '../names/names.ts'

/** What a reviewer decides about a job title. */
export interface Decision {
  readonly title: string
  readonly language?: SearchLanguage | undefined
  /** The code of the occupation that the title means; absent if the reviewer knows none. */
  readonly code?: string | undefined
}

interface StoredDecision {
  readonly reviewer: string
  readonly code: string | undefined
  /** Milliseconds since 1970. */
  readonly decided: number
}

/** The word for a decision without a code. */
export const UNKNOWN = 'unknown'

/** `confirmed`: all reviewers who know a code name the same one. `disputed`: they name several. `unknown`: none. */
export const STATES = ['confirmed', 'disputed', 'unknown'] as const
export type State = (typeof STATES)[number]

/** A title with what its reviewers have decided. */
export interface ReviewedTitle {
  readonly id: string
  /** By which titles are compared and listed. */
  readonly key: string
  readonly title: string
  readonly language: SearchLanguage
  readonly state: State
  /** The confirmed code. */
  readonly code: string | undefined
  readonly decisions: readonly StoredDecision[]
}

interface Row {
  readonly title_key: string
  readonly reviewer: string
  readonly id: string
  readonly title: string
  readonly language: SearchLanguage
  readonly code: string | null
  readonly decided: number
}

/** Titles that differ only in case, width and spaces are one title. Macrons distinguish words. */
export function keyOfTitle(title: string): string {
  return normaliseText(title.normalize('NFKC')).toLowerCase().replaceAll(/\s+/g, ' ')
}

const idOf = (key: string) => hash('sha256', key, 'base64url').slice(0, 16)

/** The characters of titles about which one reviewer, and all together, may decide: the index holds them all. */
export const MAX_DECIDED = { reviewer: 500_000, all: 1_000_000 }

/** A reviewer, or all together, have decided about as many titles as the search index can hold. */
export class TooManyDecisions extends UserError {}

/**
 * Stores the decisions of a reviewer, which replace this reviewer's earlier ones about the same titles. Those of
 * other reviewers stay.
 *
 * @returns the number of decisions that are new or differ from the earlier one
 * @throws {TooManyDecisions}
 */
export async function storeDecisions(
  writer: Writer,
  reviewer: string,
  decisions: readonly Decision[],
): Promise<number> {
  let changed = 0
  for (const { title, language = 'en', code } of decisions) {
    const key = keyOfTitle(title)
    changed += await writer.run(
      `insert into confirmed_coding (title_key, reviewer, id, title, language, code, decided)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (title_key, reviewer) do update
       set title = excluded.title, language = excluded.language, code = excluded.code, decided = excluded.decided
       where coalesce(confirmed_coding.code, '') <> coalesce(excluded.code, '')
         or confirmed_coding.language <> excluded.language`,
      [key, reviewer, idOf(key), normaliseText(title), language, code ?? null, Date.now()],
    )
  }
  if (changed > 0) await assertRoom(writer, reviewer)
  return changed
}

async function assertRoom(reader: Reader, reviewer: string): Promise<void> {
  const decided = await reader.get<{ own: number; total: number }>(
    `select sum(case when reviewer = $1 then length(title) else 0 end) as own, sum(length(title)) as total
     from confirmed_coding`,
    [reviewer],
  )
  const [own, total] = [Number(decided?.own ?? 0), Number(decided?.total ?? 0)]
  if (own <= MAX_DECIDED.reviewer && total <= MAX_DECIDED.all) return
  const [who, most] =
    own > MAX_DECIDED.reviewer ? ['one reviewer', MAX_DECIDED.reviewer] : ['all reviewers', MAX_DECIDED.all]
  throw new TooManyDecisions(
    `The titles of ${who} can have ${formatNumber(most)} characters in all, and with these they would have more. An operator can import titles as names of the search instead, with "mahi occupations import-names"`,
  )
}

/** What is decided about titles, in their order. */
export async function readTitles(reader: Reader, titles: readonly string[]): Promise<ReviewedTitle[]> {
  const keys = titles.map(keyOfTitle)
  const rows = await reader.all<Row>(
    `select * from confirmed_coding
     where title_key in (select e.value from ${reader.dialect.texts('$1', 'e')}) order by title_key, reviewer`,
    [JSON.stringify(keys)],
  )
  const byKey = new Map(groupTitles(rows).map((title) => [title.key, title]))
  return keys.flatMap((key) => byKey.get(key) ?? [])
}

/** What is decided about the title with an id; empty if nothing is. */
export async function readById(reader: Reader, id: string): Promise<ReviewedTitle[]> {
  return groupTitles(
    await reader.all<Row>('select * from confirmed_coding where id = $1 order by reviewer', [id]),
  )
}

const KNOWN_CODES = 'count(distinct code)'
const CONDITIONS: Readonly<Record<State, string>> = {
  confirmed: `${KNOWN_CODES} = 1`,
  disputed: `${KNOWN_CODES} > 1`,
  unknown: `${KNOWN_CODES} = 0`,
}

/**
 * Lists reviewed titles by their keys.
 *
 * @param from the first key, or a text before it
 */
export async function listTitles(
  reader: Reader,
  {
    from = '',
    limit,
    state,
  }: { readonly from?: string | undefined; readonly limit: number; readonly state?: State | undefined },
): Promise<ReviewedTitle[]> {
  const rows = await reader.all<Row>(
    `select c.* from confirmed_coding c join (
       select title_key from confirmed_coding where title_key >= $1
       group by title_key ${state === undefined ? '' : `having ${CONDITIONS[state]}`}
       order by title_key limit $2
     ) page on page.title_key = c.title_key order by c.title_key, c.reviewer`,
    [from, limit],
  )
  return groupTitles(rows)
}

/** All reviewed titles, a page at a time. */
export async function* readAllTitles(reader: Reader): AsyncGenerator<ReviewedTitle> {
  const limit = 1_000
  let from = ''
  for (;;) {
    const titles = await listTitles(reader, { from, limit: limit + 1 })
    yield* titles.slice(0, limit)
    const next = titles[limit]
    if (next === undefined) return
    from = next.key
  }
}

/** Withdraws a reviewer's decision about a title. */
export async function withdraw(writer: Writer, reviewer: string, id: string): Promise<number> {
  return await writer.run('delete from confirmed_coding where id = $1 and reviewer = $2', [id, reviewer])
}

export async function listReviewers(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ reviewer: string }>(
    'select distinct reviewer from confirmed_coding order by reviewer',
  )
  return rows.map(({ reviewer }) => reviewer)
}

/** The codes that decisions name. */
export async function listDecidedCodes(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ code: string }>(
    'select distinct code from confirmed_coding where code is not null order by code',
  )
  return rows.map(({ code }) => code)
}

function groupTitles(rows: readonly Row[]): ReviewedTitle[] {
  return [...Map.groupBy(rows, ({ title_key }) => title_key)].map(([key, decisions]) => {
    const newest = decisions.reduce((a, b) => (b.decided > a.decided ? b : a))
    const codes = new Set(decisions.flatMap(({ code }) => code ?? []))
    const [code] = codes
    return {
      id: newest.id,
      key,
      title: newest.title,
      language: newest.language,
      state: stateOf(codes.size),
      code: codes.size === 1 ? code : undefined,
      decisions: decisions.map(({ reviewer, code, decided }) => ({
        reviewer,
        code: code ?? undefined,
        decided: Number(decided),
      })),
    }
  })
}

function stateOf(codes: number): State {
  return codes === 0 ? 'unknown' : codes === 1 ? 'confirmed' : 'disputed'
}
