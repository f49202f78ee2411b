import type { Dialect } from '../dialect.ts'
import type { Migration } from './migration.ts'

/**
 * The prefix from `src/catalogue/records/primary.ts`, and the width of spans from `src/catalogue/import/merge.ts`, at the time
 * of this migration.
 */
const PRIMARY = `'\u0001'`
const SPAN_BITS = 26

const IS_PRIMARY = `(substr(f.major, 1, 1) = ${PRIMARY} or substr(f.minor, 1, 1) = ${PRIMARY})`

/**
 * Filters by Primary groups only, stored and counted like those by any group: the Primary minor group of each record,
 * that group's Primary major group, and both together. The documents contain them.
 */
export const primaryGroups: Migration = {
  name: '0007-primary-groups',
  statements: (dialect) => [
    ...['occupation', 'occupation_past'].map(
      (table) =>
        `update ${table} set filters = substr(filters, 1, length(filters) - 1) || coalesce((${listPairs(dialect)}), '') || ']'`,
    ),
    `insert into occupation_filter (major, minor, total)
     select distinct f.major, f.minor, 0 from (
       select e.value ->> 0 as major, e.value ->> 1 as minor
       from occupation o cross join ${dialect.elements('o.filters', 'e')}
     ) f where ${IS_PRIMARY}
     on conflict do nothing`,
    `insert into occupation_posting (filter, code, updated)
     select f.id, o.code, o.updated
     from occupation o
       cross join ${dialect.elements('o.filters', 'e')}
       join occupation_filter f on f.major = e.value ->> 0 and f.minor = e.value ->> 1
     where ${IS_PRIMARY}`,
    `update occupation_filter set total = c.total
     from (select filter, count(*) as total from occupation_posting group by filter) c
     where c.filter = occupation_filter.id`,
    ...[
      [0, 'p.updated'],
      [SPAN_BITS, `p.updated >> ${SPAN_BITS}`],
    ].map(
      ([span, start]) =>
        `insert into occupation_date (filter, span, start, total)
         select f.id, ${span}, ${start}, count(*)
         from occupation_filter f join occupation_posting p on p.filter = f.id
         where ${IS_PRIMARY} group by f.id, ${start}`,
    ),
  ],
}

/** The pairs that are missing from a row's filters, as JSON with a leading comma each. */
function listPairs({ elements, json, jsonText }: Dialect): string {
  const pair = (major: string, minor: string) =>
    `',[' || ${major === '' ? `'""'` : jsonText(`${PRIMARY} || ${major}`)} || ',' || ${minor === '' ? `'""'` : jsonText(`${PRIMARY} || ${minor}`)} || ']'`
  const code = (relation: string, group: string) => `${json(`${relation}.value -> '${group}'`)} ->> 'code'`
  const groups = `${json('document')} -> 'minorGroups'`
  const above = `${json(`m.value -> 'minorGroup'`)} -> 'majorGroups'`
  return `select coalesce(${pair('', 'minor')}, '') || coalesce(${pair('major', '')}, '') || coalesce(${pair('major', 'minor')}, '')
    from (
      select ${code('m', 'minorGroup')} as minor, (
        select ${code('a', 'majorGroup')} from ${elements(`(${above})`, 'a')}
        where a.value ->> 'majorGroupRelationType' = 'Primary' limit 1
      ) as major
      from ${elements(`(${groups})`, 'm')}
      where m.value ->> 'minorGroupRelationType' = 'Primary' limit 1
    ) own`
}
