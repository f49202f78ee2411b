import type { Writer } from '../database/database.ts'

/** position, file, line, code, updated, hash, filters, document */
export type StagedRow = readonly [number, string, number, string, number, string, string, string]

/** Width of the spans in which dates are counted besides each date itself: 2^26 ms, 18.6 hours. */
export const SPAN_BITS = 26

/** Loads what an import has read into a temporary table. */
export async function loadStaged(writer: Writer, rows: AsyncIterable<StagedRow>): Promise<void> {
  const { text } = writer.dialect
  await writer.run(
    `create temporary table staged (
      position bigint, file ${text}, line bigint,
      code ${text}, updated bigint, hash ${text}, filters ${text}, document ${text}
    )`,
  )
  const columns = ['position', 'file', 'line', 'code', 'updated', 'hash', 'filters', 'document']
  await writer.load('staged', columns, rows)
  await writer.run('create index staged_by_code on staged (code)')
  await writer.analyze('staged')
}

/**
 * Brings the catalogue's tables to what is staged. Only what changed is written: the records, the postings under
 * each of their filters, and the kept counts by filter and by date.
 */
export async function mergeStaged(
  writer: Writer,
  { replace, keepDates }: { replace: boolean; keepDates: boolean },
): Promise<{ created: number; updated: number; unchanged: number; deleted: number }> {
  await listChanges(writer, { replace, keepDates })
  const count = async (condition: string) =>
    (await writer.get<{ count: number }>(`select count(*) as count from change where ${condition}`))?.count ??
    0
  const created = await count('existed = 0')
  const updated = await count('existed = 1 and staged = 1')
  const deleted = await count('staged = 0')
  const staged = (await writer.get<{ count: number }>('select count(*) as count from staged'))?.count ?? 0

  if (created + updated + deleted > 0) {
    await listPostingChanges(writer)
    await applyToRecords(writer)
    await applyToPostings(writer)
    await applyToCounts(writer)
  }
  for (const table of ['date_change', 'posting_change', 'change', 'staged'])
    await writer.run(`drop table if exists ${table}`)
  return { created, updated, unchanged: staged - created - updated, deleted }
}

/** `change`: the code of each record that is created (existed 0), updated (1, 1) or deleted (staged 0). */
async function listChanges(writer: Writer, { replace, keepDates }: { replace: boolean; keepDates: boolean }) {
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
       select o.code, 1, 0 from occupation o where not exists (select 1 from staged s where s.code = o.code)`,
    )
  }
  await writer.analyze('change')
}

/** `posting_change`: each posting that goes (-1) or comes (1) with the changed records. */
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
     on conflict do nothing`,
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

async function applyToRecords(writer: Writer): Promise<void> {
  await writer.run('delete from occupation where code in (select code from change where staged = 0)')
  await writer.run(
    `insert into occupation (code, updated, hash, filters, document)
     select s.code, s.updated, s.hash, s.filters, s.document
     from change c join staged s on s.code = c.code
     where c.staged = 1
     order by c.code
     on conflict (code) do update set
       updated = excluded.updated, hash = excluded.hash, filters = excluded.filters, document = excluded.document`,
  )
}

async function applyToPostings(writer: Writer): Promise<void> {
  await writer.run(
    'delete from occupation_posting where (filter, code) in (select filter, code from posting_change where change = -1)',
  )
  // In the order of the primary key, so that the table is built from left to right.
  await writer.run(
    `insert into occupation_posting (filter, code, updated)
     select filter, code, updated from posting_change where change = 1 order by filter, code`,
  )
}

/** Counts by date first: most imports change everything on one, and their other sums are small ones over that. */
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
