import type { Mutation } from './mutation.ts'

const definition = 'src/engines/checking/definition'
const engine = 'src/engines/checking/engine'
const repair = 'src/engines/checking/repair'
const report = 'src/engines/checking/report'

export default [
  // The order of findings.
  {
    fault: 'findings of a record are in the order in which they were found',
    file: `${engine}/found.ts`,
    text: '    numbers.sort()\n',
    replacement: '',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'findings of files are in the order in which files were looked at',
    file: `${engine}/run.ts`,
    text: 'for (const file of this.#files) writer.write(file, this.#causes)',
    replacement: 'for (const file of this.#files.toReversed()) writer.write(file, this.#causes)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'the finding at the cap is only counted',
    file: `${engine}/found.ts`,
    text: 'if (count > this.#cap) return',
    replacement: 'if (count >= this.#cap) return',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'the key of a finding depends on the line of its record',
    file: `${engine}/write-findings.ts`,
    text: 'view.key}',
    replacement: 'view.line}',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'the text of a record has the empty lines behind it',
    file: `${engine}/record-text.ts`,
    text: 'while (stop > start && this.#buffer[stop - 1] === 10) {',
    replacement: 'if (stop > start && this.#buffer[stop - 1] === 10) {',
    test: 'test/checks.reader.test.ts',
  },

  // Causes.
  {
    fault: 'causes: warnings sort before errors',
    file: `${engine}/cause-list.ts`,
    text: "Number(one.severity === 'Warning') - Number(other.severity === 'Warning')",
    replacement: "Number(other.severity === 'Warning') - Number(one.severity === 'Warning')",
    test: 'test/checks.causes.test.ts',
  },
  {
    fault: 'causes: rules sort before what they may follow from',
    file: `${engine}/cause-list.ts`,
    text: "Number(one.kind === 'rule') - Number(other.kind === 'rule')",
    replacement: "Number(other.kind === 'rule') - Number(one.kind === 'rule')",
    test: 'test/checks.causes.test.ts',
  },
  {
    fault: 'causes: whole files sort after columns',
    file: `${engine}/cause-list.ts`,
    text: "Number(other.kind === 'file') - Number(one.kind === 'file')",
    replacement: "Number(one.kind === 'file') - Number(other.kind === 'file')",
    test: 'test/checks.causes.test.ts',
  },
  {
    fault: 'causes: small ones sort before large ones',
    file: `${engine}/cause-list.ts`,
    text: 'Math.max(other.records, other.concerned) - Math.max(one.records, one.concerned)',
    replacement: 'Math.max(one.records, one.concerned) - Math.max(other.records, other.concerned)',
    test: 'test/checks.causes.test.ts',
  },
  {
    fault: 'causes: findings beyond the cap belong to none',
    file: `${engine}/cause-list.ts`,
    text: 'cause.findings += Math.max(0, countOf(check) - total)',
    replacement: 'cause.findings += 0 * Math.max(0, countOf(check) - total)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'causes: a record with two findings counts twice',
    file: `${engine}/cause-list.ts`,
    text: 'cause.lastFile !== finding.name || cause.lastRecord !== finding.record',
    replacement: 'cause.lastRecord !== -2',
    test: 'test/checks.causes.test.ts',
  },

  {
    fault: 'causes: two long values have one key',
    file: `${engine}/cause-list.ts`,
    text: "+ hash('sha256', name, 'base64url').slice(0, 22)",
    replacement: '',
    test: 'test/checks.causes.test.ts',
  },

  // Values.
  {
    fault: 'spaces that stand for no value are a finding',
    file: `${engine}/field-checks.ts`,
    text: 'mayHaveSpaces && !missing.has(value)',
    replacement: 'mayHaveSpaces',
    test: 'test/checks.values.test.ts',
  },
  {
    fault: 'a text that describes may have one type only',
    file: 'src/engines/checking/definition/read-field.ts',
    text: "item.get('label').description()",
    replacement: "item.get('label').text()",
    test: 'test/checks.standard.test.ts',
  },
  {
    fault: 'a line end within a cell of a sheet is a line above the header',
    file: `${engine}/first-line.ts`,
    text: "text.includes('\\n') ? /\\r?\\n/ : '\\r'",
    replacement: '/\\r\\n|\\n|\\r/',
    test: 'test/checks.messages.test.ts',
  },
  {
    fault: 'the line of a header is counted from the first line that is not empty',
    file: `${engine}/first-line.ts`,
    text: ".replace(/^\\ufeff/, '')",
    replacement: ".replace(/^\\ufeff?(?:\\r?\\n)*/, '')",
    test: 'test/checks.messages.test.ts',
  },

  // Unknown values.
  {
    fault: 'unknown: a value of the wrong type counts as absent',
    file: `${engine}/field-checks.ts`,
    text: 'if (type !== -1) report(type)\n        conceal()',
    replacement: 'if (type !== -1) report(type)',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: a value that is not permitted counts as absent',
    file: `${engine}/field-checks.ts`,
    text: 'if (test.check !== -1) report(test.check)\n      conceal()',
    replacement: 'if (test.check !== -1) report(test.check)',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: an empty value that is required counts as absent',
    file: `${engine}/field-checks.ts`,
    text: 'if (needsValue) conceal()',
    replacement: '',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: references are reported if exactly half of the keys are unknown',
    file: `${engine}/references.ts`,
    text: 'unknown >= known',
    replacement: 'unknown > known',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: references that are written almost like an unknown key are reported',
    file: `${engine}/references.ts`,
    text: 'form !== undefined && this.#forms.size > 0 && this.#forms.has(form())',
    replacement: 'form === undefined && this.#forms.size < 0',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: records for which a check did not run are not counted',
    file: `${engine}/references.ts`,
    text: 'else if (!unknown.isWhole) this.#plan.undecided.add(check, resource.name, field)',
    replacement: '',
    test: 'test/checks.unknown.test.ts',
  },
  {
    fault: 'unknown: a check across fields that lacks a column is not listed as not run',
    file: `${engine}/plan.ts`,
    text: '    this.skip(check, reason)\n',
    replacement: '',
    test: 'test/checks.bad-input.test.ts',
  },

  // Boundaries.
  {
    fault: 'a code is not permitted on the last day of its period',
    file: `${definition}/field-kinds.ts`,
    text: '(until === undefined || until >= asOf)',
    replacement: '(until === undefined || until > asOf)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'a code is not permitted on the first day of its period',
    file: `${definition}/field-kinds.ts`,
    text: '(from === undefined || from <= asOf)',
    replacement: '(from === undefined || from < asOf)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'a rule is not in force on its last day',
    file: `${engine}/selection.ts`,
    text: '(until === undefined || until >= asOf)',
    replacement: '(until === undefined || until > asOf)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: '29 February 2000 does not exist: the rule of 400 years',
    file: 'src/engines/checking/definition/parameters.ts',
    text: '(year % 100 !== 0 || year % 400 === 0)',
    replacement: 'year % 100 !== 0',
    test: 'test/checks.values.test.ts',
  },
  {
    fault: 'an exclusive maximum is permitted',
    file: `${definition}/field-kinds.ts`,
    text: 'compare(value, exclusiveMaximum) < 0',
    replacement: 'compare(value, exclusiveMaximum) <= 0',
    test: 'test/checks.values.test.ts',
  },
  {
    fault: 'a minimum itself is refused',
    file: `${definition}/field-kinds.ts`,
    text: 'compare(value, minimum) >= 0',
    replacement: 'compare(value, minimum) > 0',
    test: 'test/checks.values.test.ts',
  },
  {
    fault: 'a minimum length counts UTF-16 units',
    file: `${definition}/field-kinds.ts`,
    text: 'length >= minLength * 2 - 1',
    replacement: 'length >= minLength',
    test: 'test/checks.values.test.ts',
  },
  {
    fault: 'a reference by two fields ignores the second',
    file: `${engine}/keys.ts`,
    text: 'this.#pairs.intern(one, other)',
    replacement: 'this.#pairs.intern(one, one)',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'a record that repeats two keys has two findings',
    file: `${engine}/references.ts`,
    text: 'if (first === 0 || record === reported) return',
    replacement: 'if (first === 0) return',
    test: 'test/checks.engine.test.ts',
  },
  {
    fault: 'values may be equal where an order is not strict: they are refused',
    file: `${engine}/record-checks.ts`,
    text: 'if (order > 0 || (strict && order === 0)) return true',
    replacement: 'if (order >= 0) return true',
    test: 'test/checks.values.test.ts',
  },

  // Corrections.
  {
    fault: 'CSV of the list of changes of --fix: a title that begins with = is a formula',
    file: `${repair}/change-list.ts`,
    text: 'renderForSpreadsheets([cells])',
    replacement: "`${cells.join(',')}\\n`",
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: zeros are added to a column that has some',
    file: `${repair}/habits.ts`,
    text: 'denies: (value, { codes, isValid }) => codes.size > 0 &&',
    replacement: 'denies: (value, { codes, isValid }) => codes.size < 0 &&',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: 'a pattern may repeat a part that is repeated itself',
    file: 'src/engines/checking/definition/pattern-growth.ts',
    text: 'differs || one !== other || way !== otherWay',
    replacement: 'differs || one !== other',
    test: 'test/checks.standard.test.ts',
  },
  {
    fault: '--fix: zeros are added to decimal numbers of which none has all its digits',
    file: `${repair}/habits.ts`,
    text: 'other === done && right + done >= LEAST_VALUES',
    replacement: 'other === done',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: percentages are numbers though they may be shares',
    file: `${repair}/habits.ts`,
    text: '!isDenied && of(PERCENTAGES[1 - form] as Habit).isDenied',
    replacement: '!isDenied',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: 'two digits of a year at the start of a date are a day',
    file: `${engine}/column-forms.ts`,
    text: ' || SHORT_YEAR.test(value)',
    replacement: '',
    test: 'test/checks.causes.test.ts',
  },
  {
    fault: '--fix: dates are changed though two orders occur',
    file: `${engine}/column-forms.ts`,
    text: 'if (this.#dayFirst > 0 && this.#monthFirst > 0)',
    replacement: 'if (this.#dayFirst < 0)',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: a reference is changed though no other has its case right',
    file: `${repair}/reference-evidence.ts`,
    text: '? exact >= all * OWN_SHARE && exact > 0',
    replacement: '? exact >= 0 * all * OWN_SHARE',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: a linked folder of the input is overwritten',
    file: `${repair}/output-folder.ts`,
    text: '[dirname(input), dirname(realpathSync(input))]',
    replacement: '[dirname(input)]',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: a row that may be a record is removed',
    file: `${repair}/fix.ts`,
    text: 'if (none?.isCertain) {',
    replacement: 'if (none !== undefined) {',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: copies without the list of all changes are left on a full disk',
    file: `${repair}/output-folder.ts`,
    text: 'taken.push(name)',
    replacement: '',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: bytes are copied after their block has been read over',
    file: `${repair}/fix.ts`,
    text: 'Array.from(passage.until(end), (piece) => Buffer.from(piece))',
    replacement: '[...passage.until(end)].map((piece) => Buffer.from(piece))',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: amounts of several currencies lose their signs',
    file: `${repair}/habits.ts`,
    text: 'currencies > 1 ?',
    replacement: 'currencies > 9 ?',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: the name of a separator is left that was replaced',
    file: `${repair}/fix.ts`,
    text: 'isFirst && plan.separates',
    replacement: 'false',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: '--fix: spaces that stand for no value are removed',
    file: `${repair}/column-evidence.ts`,
    text: 'if (field.missingValues.includes(cell)) return undefined',
    replacement: '',
    test: 'test/checks.fix.test.ts',
  },
  {
    fault: 'an empty row of a marked file is a record',
    file: 'src/engines/checking/engine/columns.ts',
    text: 'marks.add(index)',
    replacement: 'continue',
    test: 'test/checks.mark.test.ts',
  },

  // Outputs.
  {
    fault: 'CSV of findings: a value that begins with = is a formula',
    file: 'src/engines/records/csv-record.ts',
    text: 'FORMULA.test(`${cell}`) ?',
    replacement: "`${cell}` === '' ?",
    test: 'test/checks.reports.test.ts',
  },
  {
    fault: 'HTML: a value can close the script of the report',
    file: `${report}/html.ts`,
    text: ".replaceAll('<', '\\\\u003c')",
    replacement: '',
    test: 'test/checks.reports.test.ts',
  },
  {
    fault: 'HTML and XML: quotes are not escaped',
    file: `${report}/xml.ts`,
    text: `.replace(/[&<>"']/g`,
    replacement: '.replace(/[&<>]/g',
    test: 'test/checks.reports.test.ts',
  },
  {
    fault: 'JUnit: warnings are failures',
    file: `${report}/junit.ts`,
    text: "codes.filter(({ severity }) => severity === 'Error').length",
    replacement: 'codes.length',
    test: 'test/checks.reports.test.ts',
  },
  {
    fault: 'NDJSON: control characters of a record are in its finding',
    file: `${engine}/write-findings.ts`,
    text: 'return JSON.stringify(toShown(text))',
    replacement: 'return JSON.stringify(text)',
    test: 'test/checks.bad-input.test.ts',
  },

  // Archives.
  {
    fault: 'archives: the limit of unpacked bytes holds for each file instead of all',
    file: 'src/engines/checking/engine/unpack.ts',
    text: 'let checksum = 0\n',
    replacement: 'let checksum = 0\n        room = unpackedBytes\n',
    test: 'test/checks.containers.test.ts',
  },
  {
    fault: 'archives: a file is written beside the folder for it',
    file: 'src/engines/checking/engine/unpack.ts',
    text: 'if (!target.startsWith(folder + sep)) fail({ file, message',
    replacement: 'if (!target.startsWith(folder)) fail({ file, message',
    test: 'test/checks.containers.test.ts',
  },
  {
    fault: 'archives: one file fewer than the limit is permitted',
    file: 'src/engines/checking/engine/unpack.ts',
    text: 'if (entries.length > files)',
    replacement: 'if (entries.length >= files)',
    test: 'test/checks.containers.test.ts',
  },

  // Hostile keys.
  {
    fault: 'texts have the same hashes in every process',
    file: 'src/foundation/text/seeded-hash.ts',
    text: 'randomFillSync(new Int32Array(POSITIONS * 256))',
    replacement: 'new Int32Array(POSITIONS * 256).map((_, at) => Math.imul(at + 1, 0x9e3779b1))',
    test: 'test/checks.seen.test.ts',
  },
  {
    fault: 'texts whose halves are exchanged have the same hash',
    file: 'src/foundation/text/seeded-hash.ts',
    text: `only.
    if (position === 0 && index > 0) hash = mix(hash)
`,
    replacement: 'only.\n',
    test: 'test/checks.seen.test.ts',
  },
] satisfies Mutation[]
