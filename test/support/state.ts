import { expect } from 'vitest'
import { type KeyDescription, listKeys } from '../../src/api/access/keys.ts'
import { renderRecord } from '../../src/catalogue/records/record.ts'
import type { OccupationRecord } from '../../src/catalogue/records/schema.ts'
import type { Database, Reader } from '../../src/foundation/database/database.ts'
import { type Revision, type RevisionName, readRevisions } from '../../src/foundation/database/revisions.ts'
import { type CopiedTable, digest } from '../../src/operate/copy.ts'
import { listTables } from '../../src/operate/tables.ts'
import { withDatabase } from './filled-database.ts'
import { readStored } from './stored-findings.ts'

/** Width of the spans in which dates are counted, as in docs/data-model.md. */
const SPAN_BITS = 26n

/** Tables that a serving process makes of the others, and the record of backups, which a restore keeps. */
export const NOT_RESTORED = /^(?:search_index|job|worker|backup)/

/** Every table with its number of rows and their digest, but for those with these names. */
export async function describeTables(url: string, except = /^$/): Promise<Record<string, CopiedTable>> {
  return await withDatabase(url, async (database) => {
    const described: Record<string, CopiedTable> = {}
    for (const table of await listTables(database))
      if (!except.test(table.name)) described[table.name] = await digest(database, table)
    return described
  })
}

interface StoredSubmission {
  readonly eid: string
  readonly returnId: string
  /** The documents of the current run, in their order. */
  readonly entries: readonly string[]
}

/** Everything that a database holds for its readers, word for word. */
export interface State {
  /** The documents of the catalogue, by code. */
  readonly catalogue: ReadonlyMap<string, string>
  readonly submissions: ReadonlyMap<string, StoredSubmission>
  readonly keys: ReadonlyMap<string, KeyDescription>
  readonly revisions: Record<RevisionName, Revision>
  /** The tables there are, and the migrations that were applied. */
  readonly tables: readonly string[]
}

/** Reads the whole state, and fails where parts of it that are kept together do not belong together. */
export async function readState(database: Database): Promise<State> {
  return await database.snapshot(async (reader) => {
    const catalogue = await readCatalogue(reader)
    await checkPostings(reader, catalogue)
    await checkHistory(reader)
    const applied = await reader.all<{ name: string }>('select name from migration order by name')
    const tables = await reader.all<{ name: string }>(`${reader.dialect.tables} order by 1`)
    return {
      catalogue,
      submissions: await readSubmissions(reader),
      // A server notes when a key was used about a minute later.
      keys: new Map((await listKeys(reader)).map(({ used: _, ...key }) => [key.id, key])),
      revisions: await readRevisions(reader),
      tables: [...tables, ...applied].map(({ name }) => name),
    }
  })
}

async function readCatalogue(reader: Reader): Promise<Map<string, string>> {
  const rows = await reader.all<{ code: string; document: string }>(
    'select code, document from occupation order by code',
  )
  return new Map(rows.map(({ code, document }) => [code, document]))
}

/** Counts the records of each filter and date again, and compares the counts with the stored ones. */
async function checkPostings(reader: Reader, catalogue: ReadonlyMap<string, string>): Promise<void> {
  const postings: string[] = []
  const totals = new Map([['|', 0]])
  const dates = new Map<string, number>()
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
  for (const [code, document] of catalogue) {
    const record = JSON.parse(document) as OccupationRecord
    const rendered = renderRecord({ file: 'state.ndjson', line: 1, value: record })
    if ('faults' in rendered || rendered.code !== code) throw new Error(`${code} is stored as ${document}`)
    const updated = Date.parse(record.lastUpdatedDate ?? '')
    const filters = (JSON.parse(rendered.filters) as [string, string][]).map((names) => names.join('|'))
    for (const filter of filters) {
      postings.push(`${filter}|${code}|${updated}`)
      count(totals, filter)
      count(dates, `${filter}|0|${updated}`)
      count(dates, `${filter}|${SPAN_BITS}|${BigInt(updated) >> SPAN_BITS}`)
    }
  }
  const named = `f.major || '|' || f.minor`
  const join = 'join occupation_filter f on f.id = p.filter'
  const stored = await reader.all<{ name: string }>(
    `select ${named} || '|' || p.code || '|' || p.updated as name from occupation_posting p ${join}`,
  )
  expect(stored.map(({ name }) => name).sort()).toEqual(postings.sort())
  expect(
    await countRows(reader, `select ${named} as name, f.total as total from occupation_filter f`),
  ).toEqual(sorted(totals))
  expect(
    await countRows(
      reader,
      `select ${named} || '|' || p.span || '|' || p.start as name, p.total as total from occupation_date p ${join}`,
    ),
  ).toEqual(sorted(dates))
  const orphans = await reader.get<{ count: number }>(
    `select count(*) as count from occupation_posting where filter not in (select id from occupation_filter)`,
  )
  expect(orphans).toEqual({ count: 0 })
  const wrong = await reader.all<{ code: string; updated: number; document: string }>(
    'select code, updated, document from occupation',
  )
  for (const { code, updated, document } of wrong) {
    if (Date.parse((JSON.parse(document) as OccupationRecord).lastUpdatedDate ?? '') !== updated)
      throw new Error(`the record ${code} is stored under another date than its own`)
  }
}

/** Makes sure that the history belongs to the catalogue: nothing overlaps, and nothing is of a revision to come. */
async function checkHistory(reader: Reader): Promise<void> {
  const wrong = await reader.all<{ what: string; code: string }>(
    `select 'removed, and in the catalogue' as what, r.code from occupation_removed r join occupation o on o.code = r.code
     union all
     select 'of a revision to come', code from (
       select code, revision from occupation
       union all select code, until from occupation_past
       union all select code, revision from occupation_removed
     ) dated where revision > (select number from revision where name = 'catalogue')
     union all
     select 'past, with an end before its beginning', code from occupation_past where until <= revision
     union all
     select 'past, while it was current', p.code from occupation_past p join occupation o on o.code = p.code
     where p.until > o.revision
     union all
     select 'past twice at a time', p.code from occupation_past p
       join occupation_past q on q.code = p.code and q.until > p.until and q.revision < p.until`,
  )
  expect(wrong).toEqual([])
  const newest = await reader.get<{ total: number }>(
    `select c.total from catalogue_revision c join revision r on r.number = c.number where r.name = 'catalogue'`,
  )
  const counted = await reader.get<{ total: number }>('select count(*) as total from occupation')
  if (newest !== undefined) expect(newest).toEqual(counted)
}

async function countRows(reader: Reader, sql: string): Promise<[string, number][]> {
  const rows = await reader.all<{ name: string; total: number }>(sql)
  return sorted(new Map(rows.map(({ name, total }) => [name, total])))
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1))
}

async function readSubmissions(reader: Reader): Promise<Map<string, StoredSubmission>> {
  const rows = await reader.all<{
    token: string
    eid: string
    return_id: string
    run: number
    total: number
  }>('select token, eid, return_id, run, total from submission order by token')
  const submissions = new Map<string, StoredSubmission>()
  const stored = await readStored(reader)
  for (const { token, eid, return_id: returnId, run, total } of rows) {
    const entries = stored.get(run) ?? []
    if (entries.length !== total)
      throw new Error(`the run ${run} of ${token} is not whole: ${entries.length} of ${total}`)
    submissions.set(token, { eid, returnId, entries })
  }
  const runs = await reader.all<{
    run: number
    total: number
    trimmed: number | null
    keys: number
  }>(
    `select run, total, trimmed,
       (select coalesce(sum(p.total), 0) from result_posting p where p.run = r.run and p.field = 'key') as keys
     from submission_run r order by run`,
  )
  // A killed publish leaves the findings that it has replaced to the next deletion.
  const deleted = await reader.all<{ name: string }>(`select name from deletion where owner = 'run'`)
  const leaving = new Set(deleted.map(({ name }) => Number(name)))
  for (const { run, total, trimmed, keys } of runs) {
    if (trimmed !== null && leaving.has(run)) continue
    expect({ run, entries: stored.get(run)?.length ?? 0, keys }).toEqual({
      run,
      entries: trimmed === null ? total : 0,
      keys: trimmed === null ? total : 0,
    })
  }
  // What an interrupted publish would leave behind: findings of no run, and of none that is being deleted.
  const known = new Set([...[...rows, ...runs].map(({ run }) => run), ...leaving])
  expect([...stored.keys()].filter((run) => !known.has(run))).toEqual([])
  return submissions
}
