import type { Reader } from '../../foundation/database/database.ts'
import type { Dialect } from '../../foundation/database/dialect.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { CATALOGUE_REVISION } from '../../foundation/database/revisions.ts'
import type { Utf8 } from '../../foundation/database/utf8.ts'
import { toMissingCode } from '../records/rows.ts'
import {
  atEndOf,
  BEGINNING,
  type Position,
  readToken,
  type UncheckedToken,
  writeToken,
} from './change-token.ts'
import { OLDEST_KEPT } from './revision-log.ts'

/** An entry of the change feed. */
interface Change {
  readonly code: string
  /** The record as JSON; `undefined` for a removed code. */
  readonly document: Utf8 | undefined
  /** Whether the reader's catalogue had the code when the walk began. */
  readonly existed: boolean
  /** Milliseconds since 1970, for a removed code. */
  readonly removed: number | undefined
  readonly replacedBy: readonly string[]
}

/** A page of the change feed, read from a consistent state of the database. */
export interface ChangePage {
  readonly revision: Revision
  /** Records in the catalogue. */
  readonly totalCount: number
  readonly changes: readonly Change[]
  /** The token of the next page; absent on the last page. */
  readonly next: string | undefined
  /** The token for later changes, on the last page. */
  readonly delta: string | undefined
}

/** The token is malformed, from another installation, from before a restore, or too old. */
export class TokenExpired extends Error {}

/** What is requested: everything, the changes since a token, or only the token of the current state. */
export type Since = { readonly from: 'beginning' | 'latest' } | { readonly token: string }

/**
 * Reads a page of changes: each code once, in its newest state, ordered by the revision that changed it. A record
 * that changes during a walk moves to a later page, so a walk that spans imports neither misses nor repeats a record.
 *
 * @throws {TokenExpired}
 */
export async function readChanges(reader: Reader, since: Since, limit: number): Promise<ChangePage> {
  if ('from' in since) {
    if (since.from === 'latest') return await readLatest(reader)
    const { state, rows } = await readRows(reader, BEGINNING, limit)
    return toPage(state, rows, BEGINNING, limit)
  }
  const token = readToken(since.token)
  if (token === undefined) throw new TokenExpired()
  // Nothing from an invalid token reaches a statement.
  assertValid(token, await readState(reader, token.position.head))
  const { state, rows } = await readRows(reader, token.position, limit)
  assertValid(token, state)
  return toPage(state, rows, token.position, limit)
}

/** @throws {TokenExpired} if the token is not of this installation, or its changes can no longer be read completely */
function assertValid({ position: { base, start }, belongsTo }: UncheckedToken, state: State): void {
  if (state.token_id === null || !belongsTo(state.token_id)) throw new TokenExpired()
  // A first load needs no history except the removals since it began.
  const isFirstLoad = base === -1 && start !== undefined && start >= state.oldest
  if (base < state.oldest && !isFirstLoad) throw new TokenExpired()
}

/** The token of the current catalogue, for a reader that has loaded it in another way. */
export async function readLatest(reader: Reader): Promise<ChangePage> {
  const state = await readState(reader, null)
  return toPage(state, [], atEndOf(state.number), 0)
}

/** The current revision, and what shows whether a token is valid. */
interface State extends Revision {
  /** Records in the catalogue. */
  readonly total: number
  /** The id of the current revision. */
  readonly id: string
  /** The oldest readable revision. */
  readonly oldest: number
  /** The id of the revision that the token names, in this installation. */
  readonly token_id: string | null
}

interface Row extends State {
  readonly position: number | null
  readonly code: string | null
  readonly document: Utf8 | null
  readonly removed: number | null
  readonly replaced_by: string | null
  readonly existed: number | null
}

type Entry = Row & { readonly position: number; readonly code: string }

/** $1: the revision that the token names, or null. */
const STATE = `
  select r.number, r.changed, f.total, c.id, ${OLDEST_KEPT} as oldest,
    (select t.id from catalogue_revision t where t.number = cast($1 as bigint)) as token_id
  from ${CATALOGUE_REVISION} r
  join occupation_filter f on f.major = '' and f.minor = ''
  join catalogue_revision c on c.number = r.number`

/**
 * $2, $3: the position; $4: rows; $5: the base; $6: the revision when the walk began, or null for now.
 *
 * One statement, because the entries are complete only if the base was still readable when they were read: another
 * process may change the catalogue between two statements. Documents are looked up last, so that none is sorted, and
 * converted outside of the look-up, which would copy the result.
 */
const statement = ({ utf8 }: Dialect) => `
  select s.*,
    e.revision as position, e.code, e.removed, e.replaced_by,
    ${utf8('(select o.document from occupation o where o.code = e.code and e.removed is null)')} as document,
    case when e.code is not null and exists (
      select 1 from occupation_past p where p.code = e.code and p.until > $5 and p.revision <= $5
    ) then 1 else 0 end as existed
  from (${STATE}) s
  left join (
    select * from (
      select * from (
        select o.revision, o.code, cast(null as bigint) as removed, cast(null as text) as replaced_by
        from occupation o
        where (o.revision, o.code) > ($2, $3)
        order by o.revision, o.code limit $4
      ) present
      union all
      select * from (
        select t.revision, t.code, t.removed, t.replaced_by
        from occupation_removed t
        where (t.revision, t.code) > ($2, $3)
          and (
            t.revision > coalesce(cast($6 as bigint), (select number from ${CATALOGUE_REVISION} r))
            or exists (
              select 1 from occupation_past p where p.code = t.code and p.until > $5 and p.revision <= $5
            )
          )
        order by t.revision, t.code limit $4
      ) removed
    ) changed
    order by revision, code limit $4
  ) e on true
  order by e.revision, e.code`

async function readState(reader: Reader, head: number | null): Promise<State> {
  const state = await reader.get<State>(STATE, [head])
  if (state === undefined) throw new Error('the database has no revision of the catalogue')
  return state
}

/** Reads the state and one row more than a page has. */
async function readRows(
  reader: Reader,
  { head, revision, code, base, start }: Omit<Position, 'head'> & { readonly head?: number },
  limit: number,
): Promise<{ state: State; rows: Entry[] }> {
  const rows = await reader.all<Row>(statement(reader.dialect), [
    head ?? null,
    revision,
    code,
    limit + 1,
    base,
    start ?? null,
  ])
  const [state] = rows
  if (state === undefined) throw new Error('the database has no revision of the catalogue')
  return {
    state,
    rows: rows.flatMap(({ code, position, ...row }) =>
      code === null || position === null ? [] : [{ code, position, ...row }],
    ),
  }
}

function toPage(
  { number: head, changed, total, id }: State,
  rows: readonly Entry[],
  { base, start = head }: Omit<Position, 'head'>,
  limit: number,
): ChangePage {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next =
    rows.length > limit && last !== undefined
      ? { head, base, start, revision: last.position, code: last.code }
      : undefined
  return {
    revision: { number: head, changed },
    totalCount: total,
    changes: shown.map((row) => ({
      ...toMissingCode(row),
      document: row.document ?? undefined,
      existed: row.existed === 1,
    })),
    next: next && writeToken(next, id),
    delta: next === undefined ? writeToken(atEndOf(head), id) : undefined,
  }
}
