import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

async function start(): Promise<Installation> {
  return await new Installation().fill(RECORDS)
}

const asReviewer = (name: string, ...parameters: string[]) => [
  'occupations',
  'codings',
  ...parameters,
  '--reviewer',
  name,
]

test('a review asks about each title once, with one key each, and what it confirms is a name', async () => {
  const mahi = await start()
  mahi.write('jobs.csv', 'title\ntruck driver\nrig hand\nTRUCK DRIVER\nvibe manager\nteacher\nbus driver\n')
  // Accepts the first, corrects the second after a code that does not exist, knows none for the third, skips, ends.
  const { code, stdout, stderr } = await mahi.run(
    ['occupations', 'code', 'jobs.csv', '--review', '--reviewer', 'Pat'],
    { input: 'acZ9\ncB2\nusq' },
  )
  expect([code, stderr]).toEqual([0, expect.stringContaining('1 of 5: truck driver')])
  expect(stderr).toContain('The catalogue does not have the code "Z9"')
  expect(stderr).toContain('Stored 3 decisions. Of the titles, 2 are confirmed, 0 disputed and 1 unknown.')
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  expect(rows.map((row) => [row[0], row.at(-1)])).toEqual([
    ['title', 'decision'],
    ['truck driver', 'B2'],
    ['rig hand', 'B2'],
    ['TRUCK DRIVER', 'B2'],
    ['vibe manager', 'unknown'],
    ['teacher', ''],
    ['bus driver', ''],
  ])
  expect(await mahi.runJson(['occupations', 'find', 'rig', 'hand'])).toMatchObject({
    results: [{ occupationCode: 'B2', matchedField: 'searchOnly' }],
  })
  expect((await mahi.run(['occupations', 'names', 'export', 'confirmed'])).stdout).toBe(
    'occupationCode,name,language\nB2,rig hand,en\nB2,truck driver,en\n',
  )
})

test('decisions are confirmed from a file, listed, exported, disputed and undone', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,code,decision\nrig hand,B2,accept\nkindy,A1,unknown\nbus driver,A1,\n')
  expect(await mahi.runJson(asReviewer('Pat', 'confirm', 'done.csv'))).toMatchObject({
    changed: 2,
    titles: { confirmed: 1, disputed: 0, unknown: 1 },
  })
  mahi.write('other.csv', 'title,decision\nRig  hand,A1\n')
  const { stderr } = await mahi.run(asReviewer('Sam', 'confirm', 'other.csv'))
  expect(stderr).toContain('Disputed: "Rig  hand" is B2 for "Pat", A1 for "Sam".')

  const list = await mahi.run(['occupations', 'codings', 'list', '--state', 'disputed'])
  expect(list.stderr).toBe(
    '"Rig  hand": B2 ("Pat"), A1 ("Sam")\nReviewed titles: 0 confirmed, 1 disputed, 1 unknown.\n',
  )
  const { stdout } = await mahi.run(['occupations', 'codings', 'export'])
  expect(stdout).toMatch(
    /^title,decision,language,state,reviewer,decided\nkindy,unknown,en,unknown,Pat,\d{4}-/,
  )

  expect(await mahi.runJson(asReviewer('Sam', 'undo', 'RIG HAND'))).toEqual({ withdrawn: 1 })
  expect(await mahi.runJson(asReviewer('Pat', 'undo', '--all'))).toEqual({ withdrawn: 2 })
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toEqual({ sources: [] })
  mahi.write('export.csv', stdout)
  expect(await mahi.runJson(asReviewer('Pat', 'confirm', 'export.csv')).catch(String)).toContain(
    'differs from the decision about the same title in line 3',
  )
})

test.each([
  [
    'title,decision\nkindy,A1\nrig hand,Z9\n',
    'done.csv:3: decision: is "Z9", which the catalogue does not have',
  ],
  ['title,decision\nkindy,A1\n"rig\nhand",B2\n', 'done.csv:3: title: must be one line'],
  [
    'title,decision\nkindy,A1\nrig hand,accept\n',
    'done.csv:3: decision: is "accept", but the row has no code',
  ],
  [
    'title,decision\nkindy,A1\nkindy,B2\n',
    'done.csv:3: decision: differs from the decision about the same title',
  ],
  ['job,decision\nkindy,A1\n', 'title'],
])(
  'a file with a fault is refused by line and column, and nothing of it is stored: %j',
  async (content, fault) => {
    const mahi = await start()
    mahi.write('done.csv', content)
    const { code, stderr } = await mahi.run(asReviewer('Pat', 'confirm', 'done.csv'))
    expect([code, stderr]).toEqual([1, expect.stringContaining(fault)])
    expect(await mahi.runJson(['occupations', 'codings', 'list'])).toMatchObject({ confirmed: 0, unknown: 0 })
  },
)

test('the names of reviewers change by their decisions only', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,decision\nrig hand,B2\n')
  await mahi.run(asReviewer('Pat', 'confirm', 'done.csv'))
  mahi.write('names.csv', 'occupationCode,name\nA1,Kindy\n')
  for (const parameters of [
    ['names', 'remove', 'confirmed'],
    ['import-names', '--source', 'Confirmed', 'names.csv'],
  ]) {
    const { code, stderr } = await mahi.run(['occupations', ...parameters])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('"mahi occupations codings" confirms and undoes'),
    ])
  }
  await mahi.run(['occupations', 'import-names', '--replace', 'names.csv'])
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toMatchObject({
    sources: [
      { source: 'confirmed', names: 1 },
      { source: 'imported', names: 1 },
    ],
  })
})
