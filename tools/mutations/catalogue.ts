import type { Mutation } from './mutation.ts'

const PAGING = 'test/catalogue.lists.test.ts'
const FILTERS = 'test/catalogue.lists.test.ts'
const WINDOWS = 'test/catalogue.windows.test.ts'
const DATES = 'test/catalogue.dates.test.ts'
const CACHING = 'test/occupations.caching.test.ts'
const PARAMETERS = 'test/occupations.parameters.test.ts'
const HISTORY = 'test/occupations.history.test.ts'
const CHANGES = 'test/occupations.changes.test.ts'
const IMPORTING = 'test/catalogue.importing.test.ts'

export default [
  {
    fault: 'the documents of a page stay in memory beside it',
    file: 'src/api/serving/page.ts',
    text: 'buffer.transfer(0)',
    replacement: 'return body',
    test: 'test/pages.cache.test.ts',
  },
  // Paging
  {
    fault: 'a page begins after the cursor, not at it',
    file: 'src/catalogue/records/queries.ts',
    text: 'from occupation where code >= $1 order by code`',
    replacement: 'from occupation where code > $1 order by code`',
    test: PAGING,
  },
  {
    fault: 'a page of a group begins after the cursor',
    file: 'src/catalogue/records/queries.ts',
    text: 'where filter = (${FILTER}) and code >= $1 order by code`',
    replacement: 'where filter = (${FILTER}) and code > $1 order by code`',
    test: PAGING,
  },
  {
    fault: 'a page of a window begins after the cursor',
    file: 'src/catalogue/records/queries.ts',
    text: "compareCodePoints(codes[middle] ?? '', cursor) < 0",
    replacement: "compareCodePoints(codes[middle] ?? '', cursor) <= 0",
    test: WINDOWS,
  },
  {
    fault: 'a bound After is inclusive',
    file: 'src/catalogue/records/window.ts',
    text: 'lower.milliseconds + 1',
    replacement: 'lower.milliseconds',
    test: WINDOWS,
  },
  {
    fault: 'a fraction of a bound Before is cut off',
    file: 'src/catalogue/records/window.ts',
    text: 'upper.fraction ? upper.milliseconds : upper.milliseconds - 1',
    replacement: 'upper.milliseconds - 1',
    test: WINDOWS,
  },
  {
    fault: 'nextCursor is the last code of its own page',
    file: 'src/catalogue/records/rows.ts',
    text: 'nextCursor: found > limit ? (last ?? undefined) : undefined,',
    replacement: 'nextCursor: found >= limit ? (last ?? undefined) : undefined,',
    test: PAGING,
  },
  // Filters
  {
    fault: 'the count of a filter ignores removed records',
    file: 'src/catalogue/import/merge.ts',
    text: "['occupation', -1, 'c.existed = 1'],",
    replacement: "['occupation', -1, 'c.existed = 1 and c.staged = 1'],",
    test: FILTERS,
  },
  {
    fault: 'a record that leaves a group stays in its list',
    file: 'src/catalogue/import/merge.ts',
    text: 'from posting_change where change = -1)',
    replacement: 'from posting_change where change = -2)',
    test: FILTERS,
  },
  {
    fault: 'the order of the codes of a filter is part of its meaning',
    file: 'src/catalogue/records/list-query.ts',
    text: '[...new Set(codes)].sort(compareCodePoints)',
    replacement: '[...new Set(codes)]',
    test: CACHING,
  },
  {
    fault: 'the relation to a group is ignored',
    file: 'src/catalogue/records/list-query.ts',
    text: "...(relation === 'Primary' && { 'Filter.GroupRelation': relation }),",
    replacement: '',
    test: 'test/occupations.groups.test.ts',
  },
  // Dates
  {
    fault: 'an import gets the date of its clock, though a stored date is later',
    file: 'src/catalogue/history/revision-log.ts',
    text: 'return Math.max(Date.now(), Math.max(',
    replacement: 'return Math.min(Date.now(), Math.max(',
    test: DATES,
  },
  {
    fault: 'an import in the same millisecond gets the same date',
    file: 'src/catalogue/history/revision-log.ts',
    text: 'newest?.updated ?? Number.NEGATIVE_INFINITY) + 1)',
    replacement: 'newest?.updated ?? Number.NEGATIVE_INFINITY))',
    test: DATES,
  },
  {
    fault: 'an unchanged record gets the date of the import',
    file: 'src/catalogue/import/merge.ts',
    text: 'where o.code is null or o.hash <> s.hash ',
    replacement: "where o.code is null or o.hash <> s.hash or '' = '' ",
    test: DATES,
  },
  // ETags
  {
    fault: 'two pages of different fields have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Fields',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different cursors have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Cursor',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different windows have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.LastUpdatedAfter',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different limits have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Limit',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different major groups have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.MajorGroupCode',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different minor groups have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.MinorGroupCode',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different relations to a group have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.GroupRelation',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of different codes have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.Codes',\n",
    replacement: '',
    test: CACHING,
  },
  {
    fault: 'two pages of windows with different ends have one ETag',
    file: 'src/catalogue/records/list-query.ts',
    text: "  'Filter.LastUpdatedBefore',\n",
    replacement: '',
    test: CACHING,
  },
  // Parameters
  {
    fault: 'a relation without a group gives the whole list',
    file: 'src/catalogue/records/list-query.ts',
    text: "if (relation === 'Primary') assertGroupFilter(values)",
    replacement: '',
    test: 'test/occupations.groups.test.ts',
  },
  {
    fault: 'a repeated parameter has its last value',
    file: 'src/api/request/parameters.ts',
    text: 'if (before !== undefined) {',
    replacement: 'if (before !== undefined && given === undefined) {',
    test: PARAMETERS,
  },
  {
    fault: 'an unknown parameter is ignored',
    file: 'src/api/request/parameters.ts',
    text: '        faults.push({ name: showName(given, name), message })\n      } else if',
    replacement: '      } else if',
    test: PARAMETERS,
  },
  {
    fault: 'an empty value is read',
    file: 'src/api/request/parameters.ts',
    text: "} else if (value !== '') {",
    replacement: '} else {',
    test: PARAMETERS,
  },
  // Imports
  {
    fault: 'an import with --replace of only replacedBy rows may delete the whole catalogue',
    file: 'src/catalogue/import/import.ts',
    text: 'if (replace && staging.count === staging.replacements.length)',
    replacement: 'if (replace && staging.count === 0)',
    test: IMPORTING,
  },
  {
    fault: 'a dry run stores what it shows',
    file: 'src/catalogue/history/dry-run.ts',
    text: 'if (dryRun) throw new DryRun(result)',
    replacement: 'if (dryRun) return result',
    test: IMPORTING,
  },
  {
    fault: 'an import without --replace deletes what it does not name',
    file: 'src/catalogue/import/import.ts',
    text: '{ replace, keepDates })',
    replacement: '{ replace: true, keepDates })',
    test: IMPORTING,
  },
  {
    fault: 'one of two records with one code is stored',
    file: 'src/catalogue/import/import.ts',
    text: '  staging.faults.add(await findRepeatedCodes(writer, staging.locateLater))\n',
    replacement: '',
    test: IMPORTING,
  },
  // History
  {
    fault: 'a removed code is not known any more',
    file: 'src/catalogue/import/merge.ts',
    text: "select code, $1, $2, '[]' from change where staged = 0 order by code",
    replacement: "select code, $1, $2, '[]' from change where staged = -1 order by code",
    test: CHANGES,
  },
  {
    fault: 'a code that returns is still reported as removed',
    file: 'src/catalogue/import/merge.ts',
    text: 'select code from change where existed = 0 and staged = 1)',
    replacement: 'select code from change where existed = 0 and staged = 2)',
    test: CHANGES,
  },
  {
    fault: 'the previous content of a removed record is not kept',
    file: 'src/catalogue/import/merge.ts',
    text: '     where c.existed = 1\n     order by o.code`',
    replacement: '     where c.existed = 1 and c.staged = 1\n     order by o.code`',
    test: HISTORY,
  },
  {
    fault: 'a token of another installation is accepted',
    file: 'src/catalogue/history/changes.ts',
    text: 'state.token_id === null || !belongsTo(state.token_id)',
    replacement: 'state.token_id === null',
    test: CHANGES,
  },
  {
    fault: 'a token whose changes are no longer kept is accepted',
    file: 'src/catalogue/history/changes.ts',
    text: 'if (base < state.oldest && !isFirstLoad)',
    replacement: 'if (base < 0 && !isFirstLoad)',
    test: CHANGES,
  },
  {
    fault: 'a numeric code that is another without its leading zeros is created',
    file: 'src/catalogue/import/losses.ts',
    text: 'and s.code <> o.code and',
    replacement: 'and s.code = o.code and',
    test: 'test/catalogue.damage.test.ts',
  },
  {
    fault: 'a code beside the one with zeros in one input is a fault',
    file: 'src/catalogue/import/losses.ts',
    text: '       and not exists (select 1 from staged beside where beside.code = o.code)\n',
    replacement: '',
    test: 'test/catalogue.damage.test.ts',
  },
  {
    fault: 'a comparison of revisions ends at the first bound',
    file: 'src/catalogue/history/past.ts',
    text: 'last: end.count < BATCH ? undefined : end.last,',
    replacement: 'last: undefined,',
    test: 'test/occupations.revisions.test.ts',
  },
  {
    fault: 'a window is planned in one revision of the catalogue and read in another',
    file: 'src/catalogue/records/queries.ts',
    text: 'return isSameRevision(listed.revision, revision) ? listed : await planPage(reader, query, window)',
    replacement: 'return { ...listed, revision }',
    test: 'test/catalogue.windows.test.ts',
  },
  {
    fault: 'CSV of names: a name that begins with = is a formula',
    file: 'src/catalogue/names/commands.ts',
    text: 'readText, renderForSpreadsheets }',
    replacement: 'readText, renderRows as renderForSpreadsheets }',
    test: 'test/occupations.names.test.ts',
  },
] satisfies Mutation[]
