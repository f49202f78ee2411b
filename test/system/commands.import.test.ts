import { expect, test } from 'vitest'
import { Installation, toLines } from '../support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Baker' },
  {
    occupationCode: 'B1',
    titleEnglish: 'Cook',
    renumeration: { payLowerBound: 41000, payUpperBound: 60000 },
  },
  { occupationCode: 'C1', titleEnglish: 'Pilot', titleMaori: 'Kaiurungi' },
]

test('the summary of an import is one JSON object on standard output, and nothing else', async () => {
  const input = toLines([...RECORDS, { occupationCode: 'D1', titleEnglish: ' Miller ' }])
  const { code, stdout, stderr } = await new Installation().run(['occupations', 'import', '--json', '-'], {
    input,
  })
  expect([code, stderr]).toEqual([0, ''])
  const summary = JSON.parse(stdout)
  expect(stdout).toBe(`${JSON.stringify(summary)}\n`)
  expect(summary).toEqual({
    ...{ created: 4, updated: 0, unchanged: 0, deleted: 0, normalised: 1 },
    lastUpdatedDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
})

test('--dry-run reports what would change, and changes nothing', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const before = await mahi.catalogue()
  const input = toLines([
    { occupationCode: 'A1', titleEnglish: 'Miller' },
    RECORDS[1],
    { occupationCode: 'D1' },
  ])
  const summary = { created: 1, updated: 1, unchanged: 1, deleted: 1, normalised: 0 }
  const parameters = ['occupations', 'import', '--dry-run', '--replace', '-']
  expect(await mahi.runJson(parameters, { input })).toMatchObject(summary)

  const { code, stderr } = await mahi.run(parameters, { input })
  expect(code).toBe(0)
  expect(stderr).toBe(
    [
      'Warning: 1 record has no title in English or te reo Māori:',
      '  -:3: D1',
      '~ A1  Miller',
      '    titleEnglish: "Baker" -> "Miller"',
      '- C1  Pilot',
      '+ D1',
      'Would be: 1 created, 1 updated, 1 unchanged, 1 deleted. Nothing was changed.\n',
    ].join('\n'),
  )
  expect(await mahi.catalogue()).toBe(before)
  expect(await mahi.runJson(['occupations', 'import', '--replace', '-'], { input })).toMatchObject(summary)
})

test('rows of totals and errors of a spreadsheet are named, in a dry run too', async () => {
  const mahi = new Installation()
  const text = 'occupationCode,titleEnglish,titleMaori\nZ1,Baker,\nZ2,#N/A,Kaitunu\nTotal,"",\nZ3,,Kaitunu\n'
  const file = mahi.write('codes.csv', text)
  const { code, stderr } = await mahi.run(['occupations', 'import', '--dry-run', file])
  expect([code, stderr]).toEqual([0, expect.stringContaining('4 created')])
  expect(stderr).toContain(
    [
      'Warning: 2 records are doubtful:',
      `  ${file}:3: Z2: The column "titleEnglish" has #N/A, an error of a spreadsheet.`,
      `  ${file}:4: Total: The row has totals, and is no record.\n`,
    ].join('\n'),
  )
  expect(stderr).toContain(`: 1 record has no title in English or te reo Māori:\n  ${file}:4: Total\n`)
})

test('control characters from a file never reach the terminal', async () => {
  const mahi = new Installation()
  const file = mahi.write('a\u001b[31m\u202e.csv', 'occupationCode,\u001b[2J\u009b\u2066titleEnglish\nA1,x\n')
  const { stderr } = await mahi.run(['occupations', 'import', file])
  expect(stderr).toContain(
    'a\\u001b[31m\\u202e.csv:1: names the unknown column "\\u001b[2J\\u009b\\u2066titleEnglish"',
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there.
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
})

test('every fault of every file is named by file, line and field, and nothing is stored', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const before = await mahi.catalogue()
  const files = {
    'latin1.ndjson': Buffer.from('{"occupationCode":"X1"}\n{"titleEnglish":"Caf\u00e9"}\n', 'latin1'),
    'cut-off.csv': 'occupationCode,titleEnglish\nX4,a\nX5',
    'types.json': JSON.stringify(
      [{ occupationCode: 'X7' }, { occupationCode: 'X8', titleEnglish: 5 }],
      null,
      2,
    ),
    'once.ndjson': toLines([{ occupationCode: 'Z1' }, { occupationCode: 'Z2' }, { occupationCode: 'Z1' }]),
    'again.csv': 'descriptionEnglish,occupationCode\n"on two\nlines",Z3\nx, Z2\n',
  }
  const names = Object.entries(files).map(([name, content]) => mahi.write(name, content))
  const { code, stdout, stderr } = await mahi.run(['occupations', 'import', ...names, 'missing.csv'])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.split('\n')).toEqual([
    'latin1.ndjson:2: is not UTF-8. Save the file as UTF-8',
    'cut-off.csv:3: has 1 cell, and the header row has 2 columns',
    'types.json:5: titleEnglish: must be text, not 5',
    'missing.csv: does not exist',
    'once.ndjson:3: occupationCode: repeats "Z1" of once.ndjson:1',
    'again.csv:4: occupationCode: repeats "Z2" of once.ndjson:2',
    'Nothing was stored: 6 faults.',
    '',
  ])
  expect(await mahi.catalogue()).toBe(before)
})

test('with --json the faults are one JSON object on standard output', async () => {
  const mahi = new Installation()
  const input = toLines([{ occupationCode: 'A1', titleEnglish: 1 }, { titleMaori: 'K' }, []])
  const { code, stdout, stderr } = await mahi.run(['occupations', 'import', '--json', '-', 'missing'], {
    input,
  })
  expect([code, stderr]).toEqual([1, ''])
  expect(JSON.parse(stdout)).toEqual({
    faults: [
      { file: '-', line: 1, field: 'titleEnglish', message: 'must be text, not 1' },
      { file: '-', line: 2, field: 'occupationCode', message: 'is missing; every record needs one' },
      { file: '-', line: 3, message: 'must be an object, not a list' },
      { file: 'missing', message: 'does not exist' },
    ],
  })
})

test('of more than a hundred faults a hundred are shown, the same ones once, and a line or --json says so', async () => {
  const mahi = new Installation()
  const run = (count: number, ...flags: string[]) => {
    const records = Array.from({ length: count }, (_, index) => ({
      occupationCode: `A${index}`,
      [index % 10 === 0 ? 'shade' : 'colour']: 'red',
    }))
    return mahi.run(['occupations', 'import', '-', ...flags], { input: toLines(records) })
  }
  expect((await run(101)).stderr.trimEnd().split('\n')).toEqual([
    '-:1: has the unknown field "shade" (also in lines 11, 21, 31, 41, 51, 61, 71, 81, 91)',
    '-:2: has the unknown field "colour" (also in lines 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, …)',
    'Nothing was stored: more than 100 faults. The first 100 are shown.',
  ])
  for (const [count, truncated] of [
    [100, undefined],
    [101, true],
  ] as const) {
    const failure = JSON.parse((await run(count, '--json')).stdout)
    expect([failure.faults.length, failure.truncated]).toEqual([100, truncated])
  }
})

test('standard input cannot be read twice', async () => {
  const mahi = new Installation()
  const { code, stderr } = await mahi.run(['occupations', 'import', '-', '-'], { input: toLines(RECORDS) })
  expect(code).toBe(1)
  expect(stderr).toContain('-: is given twice, but standard input can be read only once\n')
})
