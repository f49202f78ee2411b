import type { Reader } from '../../database/database.ts'
import type { Revision } from '../../database/revisions.ts'
import { atEndOf, BEGINNING, type Position, readToken, writeToken } from './change-token.ts'
import { readKept } from './revision-log.ts'

/** An entry of the change feed. */
export interface Change {
  readonly code: string
  /** The record as JSON; `undefined` for a removed code. */
  readonly document: string | undefined
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
 * @param primary consulted about a token that a lagging standby does not know yet
 * @throws {TokenExpired}
 */
export async function readChanges(
  reader: Reader,
  primary: Reader,
  since: Since,
  limit: number,
): Promise<ChangePage> {
  if ('from' in since) {
    if (since.from === 'latest') return await readLatest(reader)
    return await readPage(reader, BEGINNING, limit)
  }
  const token = readToken(since.token)
  if (token === undefined) throw new TokenExpired()
  const { current } = await readKept(reader)
  const source = token.position.head > current ? primary : reader
  const id = await readId(source, token.position.head)
  if (id === undefined || !token.belongsTo(id)) throw new TokenExpired()
  const { oldest } = await readKept(source)
  const { base, start } = token.position
  // A first load needs no history except the removals since it began.
  if (base >= oldest || (base === -1 && start !== undefined && start >= oldest))
    return await readPage(source, token.position, limit)
  throw new TokenExpired()
}

/** The token of the current catalogue, for a reader that has loaded it in another way. */
export async function readLatest(reader: Reader): Promise<ChangePage> {
  for (;;) {
    const row = await reader.get<Revision & { total: number }>(
      `select r.number, r.changed, f.total from revision r, occupation_filter f
       where r.name = 'catalogue' and f.major = '' and f.minor = ''`,
    )
    if (row === undefined) throw new Error('the database has no revision of the catalogue')
    const id = await readId(reader, row.number)
    // An import happened in between and renamed the revision.
    if (id === undefined) continue
    return {
      revision: { number: row.number, changed: row.changed },
      totalCount: row.total,
      changes: [],
      next: undefined,
      delta: writeToken(atEndOf(row.number), id),
    }
  }
}

/**
 * The id of a revision of this installation. A revision that another version of Mahi created is identified by its
 * time while it is current.
 */
async function readId(reader: Reader, number: number): Promise<string | undefined> {
  const row = await reader.get<{ id: string }>(
    `select id from catalogue_revision where number = $1
     union all
     select r.number || '.' || r.changed from revision r
     where r.name = 'catalogue' and r.number = $1
       and not exists (select 1 from catalogue_revision c where c.number = r.number)`,
    [number],
  )
  return row?.id
}

interface Row extends Revision {
  readonly total: number
  readonly position: number | null
  readonly code: string | null
  readonly document: string | null
  readonly removed: number | null
  readonly replaced_by: string | null
  readonly existed: number | null
}

/** $1, $2: the position; $3: rows; $4: the base; $5: the revision when the walk began, or null for now. */
const STATEMENT = `
  select r.number, r.changed, f.total,
    e.revision as position, e.code, e.document, e.removed, e.replaced_by,
    case when e.code is not null and exists (
      select 1 from occupation_past p where p.code = e.code and p.until > $4 and p.revision <= $4
    ) then 1 else 0 end as existed
  from revision r
  join occupation_filter f on f.major = '' and f.minor = ''
  left join (
    select * from (
      select * from (
        select o.revision, o.code, o.document, cast(null as bigint) as removed, cast(null as text) as replaced_by
        from occupation o
        where (o.revision, o.code) > ($1, $2)
        order by o.revision, o.code limit $3
      ) present
      union all
      select * from (
        select t.revision, t.code, cast(null as text) as document, t.removed, t.replaced_by
        from occupation_removed t
        where (t.revision, t.code) > ($1, $2)
          and (
            t.revision > coalesce(cast($5 as bigint), (select number from revision where name = 'catalogue'))
            or exists (
              select 1 from occupation_past p where p.code = t.code and p.until > $4 and p.revision <= $4
            )
          )
        order by t.revision, t.code limit $3
      ) removed
    ) changed
    order by revision, code limit $3
  ) e on true
  where r.name = 'catalogue'
  order by e.revision, e.code`

async function readPage(
  reader: Reader,
  position: Omit<Position, 'head'>,
  limit: number,
): Promise<ChangePage> {
  for (;;) {
    const rows = await reader.all<Row>(STATEMENT, [
      position.revision,
      position.code,
      limit + 1,
      position.base,
      position.start ?? null,
    ])
    const [first] = rows
    if (first === undefined) throw new Error('the database has no revision of the catalogue')
    const head = first.number
    const id = await readId(reader, head)
    // As in readLatest.
    if (id === undefined) continue
    const found = rows.flatMap(({ code, position: revision, ...row }) =>
      code === null || revision === null ? [] : [{ code, revision, ...row }],
    )
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const next =
      found.length > limit && last !== undefined
        ? {
            head,
            base: position.base,
            start: position.start ?? head,
            revision: last.revision,
            code: last.code,
          }
        : undefined
    return {
      revision: { number: head, changed: first.changed },
      totalCount: first.total,
      changes: shown.map(({ code, document, existed, removed, replaced_by }) => ({
        code,
        document: document ?? undefined,
        existed: existed === 1,
        removed: removed ?? undefined,
        replacedBy: replaced_by === null ? [] : (JSON.parse(replaced_by) as string[]),
      })),
      next: next && writeToken(next, id),
      delta: next === undefined ? writeToken(atEndOf(head), id) : undefined,
    }
  }
}
