import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { Installation } from '../support/command.ts'
import { define } from '../support/definition.ts'
import { libreOffice, saveAs } from '../support/libreoffice.ts'
import { SEED } from '../support/properties.ts'
import { Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'
import { makeXlsx, type XlsxCell } from '../support/xlsx.ts'

const TEXTS = [
  'yes',
  'Yes',
  ' no',
  'T1 ',
  '007',
  '1,5',
  '17/02/2025',
  '#N/A',
  'a"b',
  '😀',
  'Māori',
  'R&D <x>',
]
const ROWS = 120

const pick = (random: Random) => TEXTS[random.below(TEXTS.length)]

/** Columns whose cells LibreOffice shows in CSV as Mahi reads them in XLSX. */
const COLUMNS: Readonly<Record<string, (random: Random) => XlsxCell>> = {
  code: (random) => ({ number: random.below(9999), format: '0000' }),
  amount: (random) => (random.chance(0.1) ? pick(random) : (random.below(4000) - 2000) / 8),
  day: (random) => ({ number: 30_000 + random.below(20_000), format: 'yyyy\\-mm\\-dd' }),
  moment: (random) => {
    return { number: 40_000 + random.below(1_440_000) / 1440, format: 'yyyy\\-mm\\-dd\\Thh:mm:ss' }
  },
  length: (random) => ({ number: random.below(3000) / 1440, format: '[hh]:mm:ss' }),
  flag: (random) => ({ xml: `<c t="b"><v>${random.below(2)}</v></c>` }),
  note: (random) => (random.chance(0.2) ? '' : pick(random)),
}

const DEFINITION = {
  table: {
    fields: [
      { name: 'code', constraints: { pattern: '0.*' } },
      { name: 'amount', type: 'number', constraints: { minimum: 0 } },
      { name: 'day', type: 'date', constraints: { minimum: '2000-01-01' } },
      {
        name: 'moment',
        type: 'datetime',
        format: '%Y-%m-%dT%H:%M:%S',
        constraints: { maximum: '2100-01-01T00:00:00' },
      },
      { name: 'length', constraints: { pattern: '0.:.*' } },
      { name: 'flag', type: 'boolean' },
      { name: 'note', constraints: { required: true, enum: ['yes', 'no', 'T1'] } },
    ],
    primaryKey: 'code',
  },
}

const testOnLibreOffice = testWhere(
  libreOffice !== undefined,
  'spreadsheets that LibreOffice writes: no soffice',
)

testOnLibreOffice('a table that LibreOffice saves is the same as CSV and as XLSX', async () => {
  const random = new Random(SEED)
  const folder = temporaryFolder()
  const source = join(folder, 'table.xlsx')
  const rows = Array.from({ length: ROWS }, () => Object.values(COLUMNS).map((make) => make(random)))
  writeFileSync(source, makeXlsx({ table: [Object.keys(COLUMNS), ...rows] }))
  // Fields are separated by commas, in UTF-8, as they are shown.
  const csv = saveAs('csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true', source, folder)
  const xlsx = saveAs('xlsx', source, folder)
  const definition = define(DEFINITION)
  const [one, other] = await Promise.all(
    [csv, xlsx].map(async (file) => {
      const mahi = new Installation()
      const run = ['check', dirname(file), '--definition', definition, '--format', 'ndjson']
      const found = [await mahi.run(run), await mahi.run([...run, '--fix', 'fixed'])]
      return {
        findings: found.map(({ stdout }) => stdout.replaceAll('table.xlsx/table', 'table.csv')),
        fixed: readFileSync(join(mahi.folder, 'fixed/table.csv'), 'utf8'),
      }
    }),
  )
  expect(other).toEqual(one)
  expect(one?.findings[0]?.split('\n').length).toBeGreaterThan(ROWS)
})

testOnLibreOffice(
  'a marked workbook keeps spaces at the ends of cells when LibreOffice saves it',
  async () => {
    const fields = [{ name: 'code' }, { name: 'note', constraints: { enum: ['x'] } }]
    const run = ['check', '--definition', define({ table: { fields } })]
    const mahi = new Installation()
    const rows = ['C1, both ', 'C2,end  ', 'C3,_x0041_ ', 'C4,none']
    writeFileSync(join(mahi.folder, 'table.csv'), `code,note\n${rows.join('\n')}\n`)
    await mahi.run([...run, 'table.csv', '--mark', 'marked', '--format', 'xlsx'])
    const saved = saveAs('xlsx', join(mahi.folder, 'marked/marked.xlsx'), temporaryFolder())
    const [before, after] = await Promise.all(
      ['table.csv', saved].map(async (file) => {
        const { stdout } = await mahi.run([...run, file, '--format', 'ndjson'])
        return stdout.match(/"value":"(?:[^"\\]|\\.)*"/g)
      }),
    )
    expect(before).toContain('"value":" both "')
    expect(after).toEqual(before)
  },
)
