import type { Writer } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import type { ChangeCounts } from '../history/revision-log.ts'
import type { Replacement } from '../records/replacements.ts'
import { SPAN_BITS } from '../records/window.ts'

/** position, file, line, code, updated, hash, filters, document */
export type StagedRow = readonly [number, string, number, string, number, string, string, string]

const STAGED_COLUMNS = ['position', 'file', 'line', 'code', 'updated', 'hash', 'filters', 'document'] as const

/** Loads the records of an import into a temporary table. */
export async function loadStaged(writer: Writer, rows: AsyncIterable<StagedRow>): Promise<void> {
  const { text } = writer.dialect
  await writer.run(
    `create temporary table staged (
      position bigint, file ${text}, line bigint,
      code ${text}, updated bigint, hash ${text}, filters ${text}, document ${text}
    )`,
  )
  await writer.load('staged', STAGED_COLUMNS, rows)
  await writer.run('create index staged_by_code on staged (code)')
  await writer.analyze('staged')
}

/** Loads the removed codes and their successors, as a JSON list of codes, into the table `replacement`. */
export async function loadReplacements(writer: Writer, replacements: readonly Replacement[]): Promise<void> {
  const { text } = writer.dialect
  await writer.run(
    `create temporary table replacement (
      code ${text} primary key, replaced_by ${text}, file ${text}, line bigint
    )`,
  )
  const rows = replacements.map(({ code, by, file = '', line = 0 }) => [code, JSON.stringify(by), file, line])
  await writer.load('replacement', ['code', 'replaced_by', 'file', 'line'], rows)
}

/**
 * Lists the changes of the staged records in the table `change`: the code of each record that is created (existed 0),
 * updated (1, 1) or deleted (staged 0). Does not apply them.
 *
 * @param replace whether the records that are not staged are removed
 * @param keepDates whether a record counts as changed if only its date differs
 */
export async function listChanges(
  writer: Writer,
  { replace, keepDates }: { replace: boolean; keepDates: boolean },
): Promise<ChangeCounts> {
  const { text } = writer.dialect
  await writer.run(`create temporary table change (code ${text} primary key, existed bigint, staged bigint)`)
  await writer.run(
    `insert into change (code, existed, staged)
     select s.code, case when o.code is null then 0 else 1 end, 1
     from staged s left join occupation o on o.code = s.code
     where o.code is null or o.hash <> s.hash ${keepDates ? 'or o.updated <> s.updated' : ''}
     order by s.code`,
  )
  if (replace) {
    await writer.run(
      `insert into change (code, existed, staged)
       select o.code, 1, 0 from occupation o
       where not exists (select 1 from staged s where s.code = o.code)
       order by o.code`,
    )
  }
  await writer.run(
    `insert into change (code, existed, staged)
     select o.code, 1, 0 from replacement r join occupation o on o.code = r.code
     where not exists (select 1 from change c where c.code = o.code)`,
  )
  await writer.analyze('change')
  const count = async (sql: string) => (await writer.get<{ count: number }>(sql))?.count ?? 0
  const created = await count('select count(*) as count from change where existed = 0')
  const updated = await count('select count(*) as count from change where existed = 1 and staged = 1')
  const deleted = await count('select count(*) as count from change where staged = 0')
  const staged = await count('select count(*) as count from staged')
  return { created, updated, unchanged: staged - created - updated, deleted }
}

/**
 * Applies the listed changes. Only what changed is written: the records, their history, the postings of their
 * filters, and the stored counts by filter and date.
 */
export async function applyChanges(writer: Writer, { number, changed }: Revision): Promise<void> {
  await listPostingChanges(writer)
  await keepPast(writer, number)
  await applyToRemoved(writer, number, changed)
  await applyToRecords(writer, number)
  await applyToPostings(writer)
  await applyToCounts(writer)
}

/** Drops the temporary tables, because connections are reused. */
export async function dropStaged(writer: Writer): Promise<void> {
  for (const table of ['date_change', 'posting_change', 'change', 'replacement', 'staged'])
    await writer.run(`drop table if exists ${table}`)
}

/** Stores the previous content of changed records for the history. */
async function keepPast(writer: Writer, revision: number): Promise<void> {
  await writer.run(
    `insert into occupation_past (code, until, revision, updated, hash, filters, document)
     select o.code, $1, o.revision, o.updated, o.hash, o.filters, o.document
     from change c join occupation o on o.code = c.code
     where c.existed = 1
     order by o.code`,
    [revision],
  )
}

/** A removed code gets a tombstone; a code that returns loses its tombstone. */
async function applyToRemoved(writer: Writer, revision: number, removed: number): Promise<void> {
  await writer.run(
    'delete from occupation_removed where code in (select code from change where existed = 0 and staged = 1)',
  )
  await writer.run(
    `insert into occupation_removed (code, revision, removed, replaced_by)
     select code, $1, $2, '[]' from change where staged = 0 order by code`,
    [revision, removed],
  )
  await writer.run(
    `insert into occupation_removed (code, revision, removed, replaced_by)
     select code, $1, $2, replaced_by from replacement where true order by code
     on conflict (code) do update set revision = excluded.revision, replaced_by = excluded.replaced_by`,
    [revision, removed],
  )
}

/** Creates `posting_change`: each posting that the changes remove (-1) or add (1). */
async function listPostingChanges(writer: Writer): Promise<void> {
  const { text, elements } = writer.dialect
  await writer.run(
    `create temporary table posting_change (filter bigint, code ${text}, updated bigint, change bigint)`,
  )
  await writer.run(
    `insert into occupation_filter (major, minor, total)
     select distinct e.value ->> 0, e.value ->> 1, 0
     from change c join staged s on s.code = c.code cross join ${elements('s.filters', 'e')}
     where true
     on conflict (major, minor) do nothing`,
  )
  for (const [source, change, which] of [
    ['occupation', -1, 'c.existed = 1'],
    ['staged', 1, 'c.staged = 1'],
  ] as const) {
    await writer.run(
      `insert into posting_change (filter, code, updated, change)
       select f.id, r.code, r.updated, ${change}
       from change c
         join ${source} r on r.code = c.code
         cross join ${elements('r.filters', 'e')}
         join occupation_filter f on f.major = e.value ->> 0 and f.minor = e.value ->> 1
       where ${which}`,
    )
  }
  await writer.analyze('posting_change')
}

async function applyToRecords(writer: Writer, revision: number): Promise<void> {
  await writer.run('delete from occupation where code in (select code from change where staged = 0)')
  await writer.run(
    `insert into occupation (code, updated, hash, filters, document, revision)
     select s.code, s.updated, s.hash, s.filters, s.document, $1
     from change c join staged s on s.code = c.code
     where c.staged = 1
     order by c.code
     on conflict (code) do update set
       updated = excluded.updated, hash = excluded.hash, filters = excluded.filters, document = excluded.document,
       revision = excluded.revision`,
    [revision],
  )
}

async function applyToPostings(writer: Writer): Promise<void> {
  await writer.run(
    'delete from occupation_posting where (filter, code) in (select filter, code from posting_change where change = -1)',
  )
  // In primary-key order, so that the index grows at its end.
  await writer.run(
    `insert into occupation_posting (filter, code, updated)
     select filter, code, updated from posting_change where change = 1 order by filter, code`,
  )
}

/** Aggregates by date first: most imports have a single date, so the other sums are then small. */
async function applyToCounts(writer: Writer): Promise<void> {
  await writer.run('create temporary table date_change (filter bigint, updated bigint, change bigint)')
  await writer.run(
    `insert into date_change (filter, updated, change)
     select filter, updated, sum(change) from posting_change
     group by filter, updated having sum(change) <> 0
     order by filter, updated`,
  )
  await writer.analyze('date_change')
  await writer.run(
    `update occupation_filter set total = total + c.change
     from (select filter, sum(change) as change from date_change group by filter) c
     where c.filter = occupation_filter.id`,
  )
  for (const [span, start] of [
    [0, 'updated'],
    [SPAN_BITS, `updated >> ${SPAN_BITS}`],
  ] as const) {
    await writer.run(
      `insert into occupation_date (filter, span, start, total)
       select filter, ${span}, ${start}, sum(change) from date_change
       group by filter, ${start} having sum(change) <> 0
       order by filter, ${start}
       on conflict (filter, span, start) do update set total = occupation_date.total + excluded.total`,
    )
    await writer.run(
      `delete from occupation_date
       where total = 0 and span = ${span}
         and (filter, start) in (select filter, ${start} from date_change where change < 0)`,
    )
  }
  await writer.run(`delete from occupation_filter where total = 0 and (major, minor) <> ('', '')`)
}
