import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import type { Finding } from '../../src/engines/checking/engine/summary.ts'
import { checkInputs } from '../support/checking.ts'
import { SCALE, SEED } from '../support/properties.ts'
import { type FileName, type Row, readFiles } from '../support/sdr/columns.ts'
import { makeTables, renderTable } from '../support/sdr/small.ts'

/** What happens to a single cell, with the value that it gets; `undefined` if it does not apply. */
const CHANGES: Readonly<Record<string, (value: string, next: string) => string | undefined>> = {
  blank: () => '',
  'other case': (value) => (value === value.toLowerCase() ? value.toUpperCase() : value.toLowerCase()),
  'surrounding spaces': (value) => (value === '' ? undefined : ` ${value} `),
  'lost leading zeros': (value) => value.replace(/^0+(?=.)/, ''),
  'decimal comma': (value) => (/^\d+\.\d+$/.test(value) ? value.replace('.', ',') : undefined),
  'day/month/year': (value) => value.replace(/^(\d{4})-(\d\d)-(\d\d)$/, '$3/$2/$1'),
  'the value of the next record': (_value, next) => next,
  'an unknown code': () => 'QX',
  'another number': (value) => (/^\d+(\.\d+)?$/.test(value) ? String(Number(value) + 1) : undefined),
  'another day': (value) => (/^\d{4}-\d\d-\d\d$/.test(value) ? value.replace(/-\d\d$/, '-13') : undefined),
  'a reference to nothing': (value) =>
    /^(?:S|FIC|FQ)\d+$/.test(value) ? value.replace(/\d/g, '9') : undefined,
  'too long': (value) => `${value}${'9'.repeat(300)}`,
  'a zero-width space': (value) => `${value}\u200b`,
  'text of a spreadsheet': () => '#N/A',
}

/** The rules that say that no other record exists, with the files and fields by which they look for it. */
const ABSENCES: Readonly<Record<string, readonly [FileName, readonly string[]][]>> = {
  'ENR-00-reference1': [['learners', ['studentIdentificationCode']]],
  'ENR-00-reference2': [['courses', ['courseCode']]],
  'CCO-00-reference1': [['learners', ['studentIdentificationCode']]],
  'QCO-00-reference1': [['learners', ['studentIdentificationCode']]],
  'CCO-201': [['enrolments', ['studentIdentificationCode', 'courseCode', 'courseStartDate']]],
  'ENR-211': [['course-completions', ['studentIdentificationCode', 'courseCode', 'courseStartDate']]],
  'QCO-201': [['enrolments', ['studentIdentificationCode', 'qualificationCode']]],
  'QCO-202': [['enrolments', ['studentIdentificationCode']]],
  'LEA-104': [
    ['enrolments', ['studentIdentificationCode']],
    ['qualification-completions', ['studentIdentificationCode']],
  ],
}

const definition = loadDefinition(findDefinition('sdr'), { examples: false })
const files = readFiles()
const CLEAN: Readonly<Record<FileName, readonly Row[]>> = makeTables()

interface Change {
  readonly kind: string
  readonly file: FileName
  readonly field: string
  readonly index: number
  readonly before: string
  readonly after: string
}

/** Every field with every kind of change, each in a record that has a value. */
const TABLE = files.flatMap(({ name, fields }) =>
  fields.flatMap(({ name: field }, place): Change[] => {
    const rows = CLEAN[name]
    const start = (place * 7) % (rows.length - 1)
    const order = [...rows.keys()].map((index) => (start + index) % (rows.length - 1))
    const index = order.find((each) => (rows[each]?.[field] ?? '') !== '') ?? start
    const before = rows[index]?.[field] ?? ''
    return Object.entries(CHANGES).flatMap(([kind, change]) => {
      const after = change(before, rows[index + 1]?.[field] ?? '')
      return after === undefined || after === before
        ? []
        : [{ kind, file: name, field, index, before, after }]
    })
  }),
)

/** A ninth of the table in the short suite, more in the long one, and all of it with PROPERTY_SCALE=9. */
const STEP = Math.max(1, Math.floor(9 / SCALE))
const SAMPLE = TABLE.filter((_, index) => index % STEP === SEED % STEP)

const folder = mkdtempSync(join(tmpdir(), 'mahi-cells-'))
afterAll(() => rmSync(folder, { recursive: true }))

const paths = new Map(files.map(({ name }) => [name, write(`${name}.csv`, name, CLEAN[name])]))

function write(file: string, name: FileName, rows: readonly Row[]): string {
  const path = join(folder, file)
  writeFileSync(path, renderTable(name, rows))
  return path
}

async function checkChange({ file, field, index, after }: Change) {
  const rows = CLEAN[file].map((row, at) => (at === index ? { ...row, [field]: after } : row))
  const changed = write('changed.csv', file, rows)
  const inputs = files.map(({ name }) => ({
    resource: name,
    name: `${name}.csv`,
    path: name === file ? changed : (paths.get(name) ?? ''),
  }))
  const { findings } = await checkInputs(inputs, { definition, complete: true })
  return { findings, contents: { ...CLEAN, [file]: rows } }
}

/** Why a finding is false after a change; `undefined` if it names the cell or is a true consequence. */
function refute(
  finding: Finding,
  change: Change,
  findings: readonly Finding[],
  contents: Readonly<Record<FileName, readonly Row[]>>,
): string | undefined {
  const { file, field, index, before, after } = change
  const line = index + 2
  const isOwn = (each: Finding) => each.file === `${file}.csv` && each.line === line
  if (isOwn(finding) && finding.field === field) return undefined
  const name = finding.file.replace('.csv', '') as FileName
  const row = contents[name][finding.line - 2] ?? {}
  const looked = ABSENCES[finding.errorCode]
  if (looked !== undefined) {
    const exists = looked.some(([other, keys]) =>
      contents[other].some((each) => keys.every((key) => (each[key] ?? '').trim() === row[key])),
    )
    if (exists) return 'the record exists'
  }
  const names = (value: string) => value !== '' && Object.values(row).includes(value.trim())
  const isUnknown = findings.some(
    (each) => isOwn(each) && each.field === field && /-\d\d-(?!spaces|unique)[a-z]+$/.test(each.errorCode),
  )
  if (isUnknown) {
    // Nothing is known of the cell: others may only lack what it was before.
    if (looked === undefined) return 'it depends on an unknown value'
    return names(before) ? undefined : 'it is about another record'
  }
  if (isOwn(finding) || names(before) || names(after)) return undefined
  const changed = contents[file][index] ?? {}
  const related = ['studentIdentificationCode', 'courseCode'].some(
    (key) => row[key] !== undefined && row[key] === changed[key],
  )
  return related ? undefined : 'it is about a record that is not related'
}

test('each finding after the change of a single cell names the cell, or is a true consequence', async () => {
  const refuted: string[] = []
  let total = 0
  expect(TABLE.length).toBeGreaterThan(700)
  for (const change of SAMPLE) {
    const { findings, contents } = await checkChange(change)
    total += findings.length
    for (const finding of findings) {
      const reason = refute(finding, change, findings, contents)
      if (reason !== undefined)
        refuted.push(
          `${change.file} ${change.index + 2} ${change.field} ${change.kind} (${change.before} → ${change.after.slice(0, 20)}): ${finding.file}:${finding.line} ${finding.errorCode}: ${finding.errorDescription}: ${reason}`,
        )
    }
  }
  expect(refuted).toEqual([])
  expect(total).toBeGreaterThan(SAMPLE.length / 2)
}, 1_800_000)
