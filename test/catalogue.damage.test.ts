import { describe, expect, test } from 'vitest'
import { Installation } from './support/command.ts'
import { importFile } from './support/import-file.ts'
import { exportText, mapLines } from './support/opened.ts'
import { openTemporary } from './support/reused-schemas.ts'

const HEADER = 'occupationCode,titleEnglish,minorGroups.1.minorGroup.code\n'
const TRUE_CODES = `${HEADER}0010,Baker,0200\n0020,Cook,0200\n1000,Driver,3000\n`
const LOST = `${HEADER}10,Baker,200\n20,Cook,200\n1000,Driver,3000\n`

const codesOf = async (database: Parameters<typeof exportText>[0]) => [
  ...mapLines(await exportText(database)).keys(),
]

describe('leading zeros that a spreadsheet removed', () => {
  test.each([false, true])('are a fault that names both codes; with --replace: %s', async (replace) => {
    const database = await openTemporary()
    await importFile(database, 'codes.csv', TRUE_CODES)
    const { faults } = await importFile(database, 'codes.csv', LOST, { replace })
    expect(faults).toMatchObject([
      {
        line: 2,
        field: 'occupationCode',
        message:
          'is "10", and the catalogue has "0010": the file has lost leading zeros. Import the column as text, or give --accept-damaged if it is right',
      },
      { line: 3, message: expect.stringContaining('the catalogue has "0020"') },
    ])
    expect(await codesOf(database)).toEqual(['0010', '0020', '1000'])

    await importFile(database, 'codes.csv', LOST, { acceptDamaged: true })
    expect(await codesOf(database)).toEqual(['0010', '0020', '10', '1000', '20'])
    // Both are codes now, so nothing is lost.
    expect((await importFile(database, 'codes.csv', LOST)).faults).toEqual([])
  })

  test('of a code that is marked as removed are a fault, too', async () => {
    const database = await openTemporary()
    await importFile(database, 'codes.csv', TRUE_CODES)
    const marked = 'occupationCode,replacedBy\n20,1000\n'
    const { faults } = await importFile(database, 'codes.csv', marked)
    expect(faults).toMatchObject([
      { line: 2, field: 'occupationCode', message: expect.stringContaining('the catalogue has "0020"') },
    ])
    await importFile(database, 'codes.csv', marked, { acceptDamaged: true })
    const again = await importFile(database, 'codes.csv', marked.replace('1000', '0010'))
    expect(again).toMatchObject({ faults: [], summary: { successors: 1 } })
  })

  test('of a code with a point are a fault, too', async () => {
    const database = await openTemporary()
    await importFile(database, 'codes.csv', `${HEADER}0110.1,Officer,0110\n`)
    const { faults } = await importFile(database, 'codes.csv', `${HEADER}110.1,Officer,110\n`)
    expect(faults).toMatchObject([{ message: expect.stringContaining('the catalogue has "0110.1"') }])
  })

  test('of the code of a group are a fault, too', async () => {
    const database = await openTemporary()
    await importFile(database, 'codes.csv', TRUE_CODES)
    const { faults } = await importFile(database, 'codes.csv', `${HEADER}0010,Baker,200\n`)
    expect(faults).toMatchObject([
      {
        line: 2,
        field: 'minorGroups[0].minorGroup.code',
        message: expect.stringMatching(
          /^is "200", and the catalogue has "0200": the file has lost leading zeros/,
        ),
      },
    ])
  })

  test('are not lost where the input has both codes', async () => {
    const database = await openTemporary()
    await importFile(database, 'codes.csv', TRUE_CODES)
    const { summary } = await importFile(database, 'codes.csv', `${TRUE_CODES}10,Ten,200\n`)
    expect(summary).toMatchObject({ created: 1, unchanged: 3 })
  })

  test('in an empty catalogue, numeric codes of unequal length are a warning', async () => {
    const mahi = new Installation()
    mahi.write('codes.csv', LOST)
    const { code, stderr } = await mahi.run(['occupations', 'import', 'codes.csv'])
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 created, 0 updated')])
    expect(stderr).toContain(
      'Warning: 2 numeric codes are shorter than the others. A spreadsheet may have removed leading zeros:\n  codes.csv:2: 10\n  codes.csv:3: 20\n',
    )
    // Those that it has now show what a code looks like.
    expect((await mahi.run(['occupations', 'import', 'codes.csv'])).stderr).not.toContain('Warning')
  })
})

describe('text that may be damaged', () => {
  /** A no-break space that was decoded twice, as three descriptions of ESCO are published. */
  const DOUBTFUL =
    'occupationCode,descriptionEnglish\nA1,Works\u00c2\u00a0alone\nA2,teacher\u00e2\u20ac\u2122s aide\n'

  test('is stored with a warning where it can be right, even beside text that was repaired', async () => {
    const database = await openTemporary()
    const { summary, faults } = await importFile(database, 'esco.csv', DOUBTFUL)
    expect(faults).toEqual([])
    expect(summary).toMatchObject({
      created: 2,
      repaired: { count: 1, first: [{ occupationCode: 'A2' }] },
      doubtful: {
        count: 1,
        first: [{ occupationCode: 'A1', doubt: expect.stringMatching(/^descriptionEnglish has "Â/) }],
      },
    })
  })

  test('is a fault where it is certain, which one option accepts', async () => {
    const mahi = new Installation()
    mahi.write('lost.csv', 'occupationCode,titleMaori\nA1,Kaiako M?ori\n')
    const refused = await mahi.run(['occupations', 'import', 'lost.csv'])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--accept-damaged')])
    const { code, stderr } = await mahi.run(['occupations', 'import', '--accept-damaged', 'lost.csv'])
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 created')])
    expect(stderr).toContain('Warning: 1 record is doubtful:\n  lost.csv:2: A1: titleMaori has')
    expect(await mahi.catalogue()).toContain('"Kaiako M?ori"')
  })
})
