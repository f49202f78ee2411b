import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ask, Installation, toLines } from '../support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Baker' },
  {
    occupationCode: 'B1',
    titleEnglish: 'Cook',
    renumeration: { payLowerBound: 41000, payUpperBound: 60000 },
  },
  { occupationCode: 'C1', titleEnglish: 'Pilot', titleMaori: 'Kaiurungi' },
]

describe('the summary of an import', () => {
  test('as one JSON object on standard output, and nothing else', async () => {
    const mahi = new Installation()
    const file = mahi.write(
      'records.ndjson',
      toLines([...RECORDS, { occupationCode: 'D1', titleEnglish: ' Miller ' }]),
    )
    const { code, stdout, stderr } = await mahi.run(['occupations', 'import', '--json', file])
    expect([code, stderr]).toEqual([0, ''])
    const summary = JSON.parse(stdout)
    expect(stdout).toBe(`${JSON.stringify(summary)}\n`)
    expect(summary).toEqual({
      created: 4,
      updated: 0,
      unchanged: 0,
      deleted: 0,
      normalised: 1,
      lastUpdatedDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
  })
})

describe('--replace', () => {
  test.each([
    ['a JSON list', '[]'],
    ['a CSV file', 'occupationCode,titleEnglish\n'],
    ['an empty NDJSON file', ''],
  ])('refuses %s without a record, which would delete everything', async (_, input) => {
    const mahi = await new Installation().fill(RECORDS)
    const before = await mahi.catalogue()
    const { code, stdout, stderr } = await mahi.run(['occupations', 'import', '--replace', '-'], { input })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      '--replace: with an empty input, this would delete the whole catalogue. Give files with records\n' +
        'Nothing was stored: 1 fault.\n',
    )
    expect(await mahi.catalogue()).toBe(before)
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

describe('text that was decoded with the wrong character set', () => {
  const decoded = (text: string) => Buffer.from(text).toString('latin1')

  test('is repaired and counted, and the first ten records are named in a warning', async () => {
    const mahi = new Installation()
    const records = Array.from({ length: 12 }, (_, index) => ({
      occupationCode: `A${index}`,
      titleEnglish: decoded('Children’s Nurse'),
      titleMaori: decoded('Kaiako kōhungahunga'),
    }))
    const file = mahi.write(
      'esco.ndjson',
      toLines([{ occupationCode: 'B1', titleEnglish: 'Café' }, ...records]),
    )
    const named = Array.from({ length: 10 }, (_, index) => `  ${file}:${index + 2}: A${index}`)
    const { stderr } = await mahi.run(['occupations', 'import', '--dry-run', file])
    expect(stderr.split('\n').slice(0, 11)).toEqual([
      'Warning: the text of 12 records is UTF-8 that was decoded as Windows-1252 or Latin-1. It was repaired (the first 10 are shown):',
      ...named,
    ])
    const summary = await mahi.runJson(['occupations', 'import', file])
    expect(summary).toMatchObject({ normalised: 12, repaired: { count: 12 } })
    expect(await mahi.catalogue()).toContain('"Children’s Nurse","titleMaori":"Kaiako kōhungahunga"')
  })

  test('is rejected with its surroundings and the likely cause where nothing can be repaired', async () => {
    const mahi = new Installation()
    const input = toLines([{ occupationCode: 'A1', titleEnglish: 'Children\u0092s Nurse \u202e\u001b' }])
    const { code, stderr } = await mahi.run(['occupations', 'import', '-'], { input })
    expect(code).toBe(1)
    expect(stderr).toContain(
      '-:1: titleEnglish: has the control character U+0092 in "Children\\u0092s Nurse \\u202e\\u001b": ' +
        'Windows-1252 text, where this byte is ’, was probably decoded as Latin-1: export the data again as UTF-8\n',
    )
  })
})

test('a record without a title is stored, and a warning names it', async () => {
  const mahi = new Installation()
  const file = mahi.write(
    'codes.csv',
    'occupationCode,titleEnglish,titleMaori\nZ1,Baker,\nZ2,"",""\nZ3,,Kaitunu\n',
  )
  const { code, stderr } = await mahi.run(['occupations', 'import', file])
  expect([code, stderr]).toEqual([0, expect.stringContaining('3 created')])
  expect(stderr).toContain(`Warning: 1 record has no title in English or te reo Māori:\n  ${file}:3: Z2\n`)
})

test('rows of totals and errors of a spreadsheet are named, in a dry run too', async () => {
  const mahi = new Installation()
  const text = 'occupationCode,titleEnglish,titleMaori\nZ1,Baker,\nZ2,#N/A,Kaitunu\nTotal,,\n'
  const file = mahi.write('codes.csv', text)
  const { code, stderr } = await mahi.run(['occupations', 'import', '--dry-run', file])
  expect([code, stderr]).toEqual([0, expect.stringContaining('3 created')])
  expect(stderr).toContain(
    [
      'Warning: 2 records are doubtful:',
      `  ${file}:3: Z2: The column "titleEnglish" has #N/A, an error of a spreadsheet.`,
      `  ${file}:4: Total: The row has totals, and is no record.\n`,
    ].join('\n'),
  )
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

test('all faults of a CSV row are reported at once, and so is a code that comes again', async () => {
  const mahi = new Installation()
  const input = [
    'occupationCode,altJobTitlesEnglish,renumeration.payLowerBound,renumeration.payMidLowerBound,renumeration.payUpperBound',
    'A1,"[""Baker""]",1,2,3',
    'A1,Baker; Miller,many,60000,50000',
    ',Cook,1,2,3',
  ].join('\n')
  const { stdout } = await mahi.run(['occupations', 'import', '--json', '-'], { input })
  const { faults } = JSON.parse(stdout) as { faults: { line: number; field: string }[] }
  expect(faults.map(({ line, field }) => `${line} ${field}`)).toEqual([
    '3 altJobTitlesEnglish',
    '3 renumeration.payLowerBound',
    '3 renumeration.payUpperBound',
    '4 altJobTitlesEnglish',
    '4 occupationCode',
    '3 occupationCode',
  ])
})

test('several files, of any form, are one import', async () => {
  const mahi = new Installation()
  const files = [
    mahi.write('a.ndjson', toLines(RECORDS.slice(0, 1))),
    mahi.write('b.json.gz', gzipSync(JSON.stringify(RECORDS.slice(1, 2), null, 2))),
    mahi.write('c.csv', '\ufeffoccupationCode,titleEnglish,titleMaori\r\nC1,Pilot,Kaiurungi\r\n'),
    mahi.write('no-ending', '{"occupationCode":"D1"}'),
  ]
  const input = 'occupationCode\nE1\n'
  expect(await mahi.runJson(['occupations', 'import', ...files, '-'], { input })).toMatchObject({
    created: 5,
  })
  expect((await mahi.catalogue()).split('\n')).toHaveLength(6)
})

test('every fault of every file is named by file, line and field, and nothing is stored', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const before = await mahi.catalogue()
  const group = (code: string) => ({ minorGroupRelationType: 'Primary', minorGroup: { code } })
  const files = {
    'latin1.ndjson': Buffer.from('{"occupationCode":"X1"}\n{"titleEnglish":"Caf\u00e9"}\n', 'latin1'),
    'empty.json': '',
    'cut-off.ndjson': '{"occupationCode":"X2"}\n{"occupationCode":"X3","titleEng',
    'cut-off.csv': 'occupationCode,titleEnglish\nX4,a\nX5',
    'cut-off.ndjson.gz': gzipSync(toLines(RECORDS)).subarray(0, 40),
    'names.ndjson': toLines([{ occupationCode: 'X6', titelEnglish: 'x' }, { titleEnglish: 'no code' }]),
    'types.json': JSON.stringify(
      [{ occupationCode: 'X7' }, { occupationCode: 'X8', titleEnglish: 5 }],
      null,
      2,
    ),
    'rules.ndjson': toLines([
      { occupationCode: 'Y1', altJobTitlesMaori: ['1', '2', '3', '4', '5', '6', '7', '8'] },
      { occupationCode: 'Y2', minorGroups: [group('11'), group('12')] },
      { occupationCode: 'Y3', renumeration: { payLowerBound: 50000, payMidUpperBound: 40000 } },
    ]),
    'once.ndjson': toLines([{ occupationCode: 'Z1' }, { occupationCode: 'Z2' }, { occupationCode: 'Z1' }]),
    'again.csv': 'descriptionEnglish,occupationCode\n"on two\nlines",Z3\nx, Z2\n',
    'long.ndjson': `{"occupationCode":"L1","titleEnglish":"${'x'.repeat(20_000_000)}"}\n{"occupationCode":"L2"}\n`,
  }
  const names = Object.entries(files).map(([name, content]) => mahi.write(name, content))
  const { code, stdout, stderr } = await mahi.run(['occupations', 'import', ...names, 'missing.csv', '.'])
  expect([code, stdout]).toEqual([1, ''])
  const lines = stderr.split('\n')
  expect(lines.map((line) => line.replace(/\((?:Unterminated|Unexpected)[^)]*\)/, '(…)'))).toEqual([
    'latin1.ndjson:2: is not UTF-8. Save the file as UTF-8',
    'empty.json: The file is empty. A JSON file without records must contain an empty list, []',
    'cut-off.ndjson:2: The file ends inside a record (…). It is truncated or not JSON',
    'cut-off.csv:3: has 1 cell, and the header row has 2 columns',
    'cut-off.ndjson.gz: The gzip file is damaged or truncated',
    'names.ndjson:1: has the unknown field "titelEnglish" (did you mean "titleEnglish"?)',
    'names.ndjson:2: occupationCode: is missing; every record needs one',
    'types.json:5: titleEnglish: must be text, not 5',
    'rules.ndjson:1: altJobTitlesMaori: has 8 items; at most 7 are allowed',
    'rules.ndjson:2: minorGroups: has two Primary minor groups; at most one is allowed',
    'rules.ndjson:3: renumeration.payMidUpperBound: is 40000, below payLowerBound (50000); pay must not decrease',
    'long.ndjson:1: is longer than 1048576 bytes. Each line must hold one record',
    'missing.csv: does not exist',
    '.: is a folder. Name the files in it',
    'once.ndjson:3: occupationCode: repeats "Z1" of once.ndjson:1',
    'again.csv:4: occupationCode: repeats "Z2" of once.ndjson:2',
    'Nothing was stored: 16 faults.',
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

describe('of more than a hundred faults', () => {
  const faulty = (count: number) =>
    toLines(Array.from({ length: count }, (_, index) => ({ occupationCode: `A${index}`, colour: 'red' })))

  test('a hundred are shown, and a line says so', async () => {
    const mahi = new Installation()
    const input = faulty(101)
    const { code, stderr } = await mahi.run(['occupations', 'import', '-'], { input })
    expect(code).toBe(1)
    const lines = stderr.trimEnd().split('\n')
    expect(lines).toHaveLength(101)
    expect(lines[99]).toBe('-:100: has the unknown field "colour"')
    expect(lines[100]).toBe('Nothing was stored: more than 100 faults. The first 100 are shown.')
  })

  test('--json says that the list is truncated, and does not say so of exactly a hundred', async () => {
    const mahi = new Installation()
    const failure = async (count: number) => {
      const { stdout } = await mahi.run(['occupations', 'import', '--json', '-'], { input: faulty(count) })
      return JSON.parse(stdout) as { faults: unknown[]; truncated?: boolean }
    }
    const [exact, more] = [await failure(100), await failure(101)]
    expect([exact.faults.length, exact.truncated]).toEqual([100, undefined])
    expect([more.faults.length, more.truncated]).toEqual([100, true])
  })
})

test.each([
  ['as it is', (text: string) => Buffer.from(text)],
  ['packed', (text: string) => gzipSync(text)],
])('the input may come slowly, in pieces of any size, %s', async (_, pack) => {
  const mahi = new Installation()
  const input = new PassThrough()
  const command = mahi.start(['occupations', 'import', '--json', '-'], { input })
  for (const byte of pack(`\ufeff\n${toLines(RECORDS)}`)) {
    input.write(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  input.end()
  const { code, stdout } = await command.ended
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ created: 3 })
})

test('standard input cannot be read twice', async () => {
  const mahi = new Installation()
  const { code, stderr } = await mahi.run(['occupations', 'import', '-', '-'], { input: toLines(RECORDS) })
  expect(code).toBe(1)
  expect(stderr).toContain('-: is given twice, but standard input can be read only once\n')
})

test('an import and a deletion show on a server that is running', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const { url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public' })
  const codes = async () => {
    const page = (await (await ask(`${url}/v1/occupations`)).json()) as {
      data: { occupationCode: string }[]
    }
    return page.data.map(({ occupationCode }) => occupationCode)
  }
  expect(await codes()).toEqual(['A1', 'B1', 'C1'])
  await mahi.runJson(['occupations', 'import', '--replace', '-'], {
    input: toLines([RECORDS[0], { occupationCode: 'D1' }]),
  })
  await expect.poll(codes).toEqual(['A1', 'D1'])
})
