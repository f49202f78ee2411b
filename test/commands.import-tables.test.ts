import { describe, expect, test } from 'vitest'
import { Installation, toLines } from './support/command.ts'
import { makeXlsx } from './support/xlsx.ts'

const IMPORT = ['occupations', 'import']

/** The records of an installation, without their dates. */
async function recordsOf(mahi: Installation): Promise<unknown[]> {
  const lines = (await mahi.catalogue()).trimEnd().split('\n')
  return lines.map((line) => {
    const { lastUpdatedDate: _, ...record } = JSON.parse(line) as Record<string, unknown>
    return record
  })
}

async function complain(mahi: Installation, ...parameters: string[]): Promise<string[]> {
  const { code, stderr } = await mahi.run([...IMPORT, ...parameters])
  expect(code).toBe(1)
  return stderr.trimEnd().split('\n').slice(0, -1)
}

const MAPPING = `
separator: ";"
columns:
  ANZSCO: occupationCode
  Job: titleEnglish
  Also called: { field: altJobTitlesEnglish, separator: "|" }
  And: altJobTitlesEnglish
  Low: renumeration.payLowerBound
  Unit: minorGroup.code
  Unit name: minorGroup.nameEnglish
  Sector: majorGroup.code
  Remarks: null
constants:
  trainingDuration: Three years
`

const TABLE = [
  'ANZSCO;Job;Also called;And;Low;Unit;Unit name;Sector;Remarks',
  'A1;Baker;Bread Maker| Pastry Cook;Oven Hand;41000.5;11;Food;1;call back',
  'B1;Cook;;;;;;;',
].join('\n')

const MAPPED = [
  {
    occupationCode: 'A1',
    titleEnglish: 'Baker',
    altJobTitlesEnglish: ['Bread Maker', 'Pastry Cook', 'Oven Hand'],
    trainingDuration: 'Three years',
    minorGroups: [
      {
        minorGroupRelationType: 'Primary',
        minorGroup: {
          code: '11',
          nameEnglish: 'Food',
          majorGroups: [{ majorGroupRelationType: 'Primary', majorGroup: { code: '1' } }],
        },
      },
    ],
    renumeration: { payLowerBound: 41000.5 },
  },
  { occupationCode: 'B1', titleEnglish: 'Cook', trainingDuration: 'Three years' },
]

describe('--map', () => {
  test('makes records of an unfamiliar table', async () => {
    const mahi = new Installation()
    mahi.write('map.yaml', MAPPING)
    const file = mahi.write('jobs.txt', TABLE)
    await mahi.runJson([...IMPORT, '--map', 'map.yaml', file])
    expect(await recordsOf(mahi)).toEqual(MAPPED)
  })

  test('names unknown fields, columns and keys, each with the nearest that exists', async () => {
    const mahi = new Installation()
    mahi.write(
      'map.json',
      JSON.stringify({
        colums: {},
        columns: { Code: 'occupationCod', Title: { field: 'titleEnglish', separator: ';' } },
        constants: { titleEnglsh: 'x' },
      }),
    )
    mahi.write('jobs.csv', 'Code,Title\nA,a\n')
    expect((await mahi.run([...IMPORT, '--map', 'map.json', 'jobs.csv'])).stderr.split('\n')).toEqual([
      'map.json: has the unknown key "colums" (did you mean "columns"?); keys are columns, constants, noValue, separator, quote, sheet, headerRow',
      'map.json: columns.Code: names the unknown field "occupationCod" (did you mean "occupationCode"?)',
      'map.json: columns.Title.separator: splits titleEnglish, which is not a list',
      'map.json: constants.titleEnglsh: names the unknown field "titleEnglsh" (did you mean "titleEnglish"?)',
      'Nothing was stored: 4 faults.',
      '',
    ])
  })

  test('must name every column of the table, and only those', async () => {
    const mahi = new Installation()
    mahi.write('map.yaml', 'columns: { Code: occupationCode, Titel: titleEnglish }\n')
    mahi.write('jobs.csv', 'Code,Title,Notes\nA,a,n\n')
    expect(await complain(mahi, '--map', 'map.yaml', 'jobs.csv')).toEqual([
      'jobs.csv:1: names the unknown column "Title", which the mapping does not name: map it to a field or to null, or give --ignore-unknown',
      'jobs.csv:1: names the unknown column "Notes", which the mapping does not name: map it to a field or to null, or give --ignore-unknown',
      'map.yaml: columns: maps the column "Titel", which jobs.csv does not have (did you mean "Title"?)',
    ])
    expect((await mahi.run([...IMPORT, '--map', 'none.yaml', 'jobs.csv'])).stderr).toContain(
      'none.yaml: does not exist',
    )
    // A title above the header is one cause, not a fault for each column.
    mahi.write('title.csv', 'Our occupations,\nCode,Titel\nA,a\n')
    expect(await complain(mahi, '--map', 'map.yaml', 'title.csv')).toEqual([
      'title.csv:1: has none of the columns of the mapping, such as "Code". If another row names the columns, give its number as headerRow',
    ])
    // A fault without a line that is the same for both.
    expect(await complain(mahi, 'none.csv', 'none.csv')).toEqual(['none.csv: does not exist'])
    // Without one, its use is advised.
    mahi.write('semicolons.csv', 'Code;Titel\nA;a\n')
    expect(await complain(mahi, 'semicolons.csv')).toEqual([
      'semicolons.csv:1: Columns are separated by ";". Use ",", or a mapping (--map) with separator: ";"',
    ])
  })
})

test('--ignore-unknown ignores unknown columns and fields, and names them', async () => {
  const mahi = new Installation()
  const csv = mahi.write('a.csv', 'occupationCode,Notes\nA,n\n')
  const ndjson = mahi.write(
    'b.ndjson',
    toLines([{ occupationCode: 'B', colour: 'red', renumeration: { payLowerBound: 1, currency: 'NZD' } }]),
  )
  const summary = await mahi.runJson([...IMPORT, '--ignore-unknown', csv, ndjson])
  expect(summary).toMatchObject({ created: 2, ignored: ['Notes', 'colour', 'renumeration.currency'] })
  expect(await recordsOf(mahi)).toEqual([
    { occupationCode: 'A' },
    { occupationCode: 'B', renumeration: { payLowerBound: 1 } },
  ])
})

describe('a spreadsheet', () => {
  const header = ['occupationCode', 'titleEnglish', 'renumeration.payLowerBound', 'lastUpdatedDate']
  const run = async (sheets: Parameters<typeof makeXlsx>[0], merged: string[] = [], ...more: string[]) => {
    const mahi = new Installation()
    const file = mahi.write('jobs.xlsx', makeXlsx(sheets, { merged }))
    const outcome = await mahi.run([...IMPORT, ...more, file])
    return { mahi, ...outcome, lines: outcome.stderr.trimEnd().split('\n') }
  }

  test('is read with numbers as text where text belongs, stored results of formulas, and dates', async () => {
    const formula = { xml: '<c><f>C2*2</f><v>82000</v></c>' }
    const { mahi, code } = await run(
      {
        Jobs: [
          header,
          [221213, 'Baker & co', 41000.5, { date: 45000.5 }],
          [],
          ['B1', undefined, formula, undefined],
        ],
      },
      [],
      '--keep-dates',
    )
    expect(code).toBe(0)
    expect(await recordsOf(mahi)).toEqual([
      { occupationCode: '221213', titleEnglish: 'Baker & co', renumeration: { payLowerBound: 41000.5 } },
      { occupationCode: 'B1', renumeration: { payLowerBound: 82000 } },
    ])
    expect(await mahi.catalogue()).toContain('"lastUpdatedDate":"2023-03-15T12:00:00.000Z"')
  })

  test('with several sheets needs --sheet', async () => {
    const sheets = { Jobs: [header, ['A1', 'Baker']], Notes: [['x']] }
    const refused = await run(sheets)
    expect(refused.lines[0]).toBe(
      'jobs.xlsx: has 2 sheets: choose one with --sheet. The sheets are "Jobs", "Notes"',
    )
    expect((await run(sheets, [], '--sheet', 'Job')).lines[0]).toBe(
      'jobs.xlsx: has no sheet "Job" (did you mean "Jobs"?). The sheets are "Jobs", "Notes"',
    )
    expect((await run(sheets, [], '--sheet', 'Jobs')).code).toBe(0)
  })
})

test('flat CSV has a column for each item of each list, and comes back without a change', async () => {
  const mahi = new Installation()
  const group = (code: string) => ({ minorGroup: { code, tasks: [`${code}, "one"`, 'two\nlines'] } })
  const records = [
    { occupationCode: 'A', altJobTitlesEnglish: ['x', '["y"]', 'z'], minorGroups: [group('1'), group('2')] },
    { occupationCode: 'B', minorGroups: [{ minorGroup: { majorGroups: [{ majorGroup: { code: '9' } }] } }] },
    { occupationCode: 'C', renumeration: { payLowerBound: 1.5 } },
  ]
  await mahi.fill(records)
  const { stdout } = await mahi.run(['occupations', 'export', '--format', 'flat-csv'])
  expect(stdout.split('\n')[0]).toContain('altJobTitlesEnglish.3,descriptionEnglish')
  expect(stdout.split('\n')[0]).toContain('minorGroups.2.minorGroup.tasks.2')
  expect(await mahi.runJson([...IMPORT, '-'], { input: stdout })).toMatchObject({
    unchanged: 3,
    normalised: 0,
  })
})

describe('occupations schema', () => {
  test('prints the JSON Schema of a record', async () => {
    const { stdout } = await new Installation().run(['occupations', 'schema'])
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['occupationCode'],
      properties: { occupationCode: { maxLength: 64 } },
    })
  })
})
