import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

async function start(): Promise<Installation> {
  return await new Installation().fill(RECORDS)
}

const EXPORT = ['occupations', 'codings', 'export']

const asReviewer = (name: string, ...parameters: string[]) => [
  'occupations',
  'codings',
  ...parameters,
  '--reviewer',
  name,
]

test('decisions are applied from a file, disputed and exported', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,code,decision\nrig hand,B2,accept\nkindy,A1,unknown\nbus driver,A1,\n')
  expect(await mahi.runJson(asReviewer('Pat', 'apply', 'done.csv'))).toMatchObject({
    changed: 2,
    titles: { confirmed: 1, disputed: 0, unknown: 1 },
    added: 1,
    removed: 0,
  })
  mahi.write('other.csv', 'title,decision\nRig  hand,A1\n')
  const { stderr } = await mahi.run(asReviewer('Sam', 'apply', 'other.csv'))
  expect(stderr).toContain('Disputed: "Rig  hand" is B2 for "Pat", A1 for "Sam".')
  expect(stderr).toContain('Confirmed names of the search: 0 added, 1 removed.')
  expect(await mahi.runJson(asReviewer('Sam', 'apply', 'other.csv'))).toMatchObject({
    changed: 0,
    disputed: [{ title: 'Rig  hand', state: 'disputed' }],
  })
  expect((await mahi.run(['occupations', 'codings', 'apply'])).stderr).toBe(
    'The confirmed names of the search are unchanged.\n',
  )
  const { stdout } = await mahi.run(EXPORT)
  expect(stdout).toMatch(
    /^\ufefftitle,decision,language,state,reviewer,decided,inCatalogue,replacedBy\nkindy,unknown,en,unknown,Pat,\d{4}-[^,]+,,\n/,
  )
  mahi.write('export.csv', stdout)
  expect(await mahi.runJson(asReviewer('Pat', 'apply', 'export.csv')).catch(String)).toContain(
    'differs from the decision about the same title in line 3',
  )
})

test('a title that a spreadsheet would take for a formula is exported as text, and applied as it was', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,decision\n=1+1 driver,B2\n')
  expect((await mahi.run(asReviewer('Pat', 'apply', 'done.csv'))).stderr).toContain(
    'Stored 1 decision. Titles: 1 confirmed, 0 disputed, 0 unknown.',
  )
  const { stdout } = await mahi.run(EXPORT)
  expect(stdout).toMatch(/^'=1\+1 driver,B2,/m)
  mahi.write('export.csv', stdout)
  expect(await mahi.runJson(asReviewer('Pat', 'apply', 'export.csv'))).toMatchObject({ changed: 0 })

  mahi.write('jobs.csv', 'title\nnurse, of people\n')
  expect((await mahi.run(['occupations', 'code', 'jobs.csv'])).stderr).toContain(
    'jobs.csv:2: has 2 values, but the file has 1 column\n',
  )
  mahi.write('jobs.csv', 'title,note\n=1+1 driver,@home\n')
  expect((await mahi.run(['occupations', 'code', 'jobs.csv'])).stdout).toMatch(/^'=1\+1 driver,'@home,/m)
})

test('a file with a fault is refused by line and column, and nothing of it is stored', async () => {
  const mahi = await start()
  for (const [content, fault] of [
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
  ] as const) {
    mahi.write('done.csv', content)
    const { code, stderr } = await mahi.run(asReviewer('Pat', 'apply', 'done.csv'))
    expect([content, code, stderr]).toEqual([content, 1, expect.stringContaining(fault)])
  }
  expect((await mahi.run(EXPORT)).stdout.trim().split('\n')).toHaveLength(1)
})

test('the names of reviewers change by their decisions only', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,decision\nrig hand,B2\n')
  await mahi.run(asReviewer('Pat', 'apply', 'done.csv'))
  mahi.write('names.csv', 'occupationCode,name\nA1,Kindy\n')
  for (const parameters of [
    ['names', 'remove', 'confirmed'],
    ['import-names', '--source', 'Confirmed', 'names.csv'],
  ]) {
    const { code, stderr } = await mahi.run(['occupations', ...parameters])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('"mahi occupations codings" and the console change them'),
    ])
  }
  await mahi.run(['occupations', 'import-names', 'names.csv'])
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toMatchObject({
    sources: [
      { source: 'confirmed', names: 1 },
      { source: 'imported', names: 1 },
    ],
  })
})

test('an export restores the decisions of one reviewer, through a spreadsheet too', async () => {
  const mahi = await start()
  mahi.write('pat.csv', 'title,decision,language\nrig hand,B2,en\nMāhita,A1,mi\nvibe manager,unknown,en\n')
  mahi.write('sam.csv', 'title,decision\nrig hand,A1\n')
  await mahi.run(asReviewer('Pat', 'apply', 'pat.csv'))
  await mahi.run(asReviewer('Sam', 'apply', 'sam.csv'))
  const { stdout } = await mahi.run(asReviewer('Pat', 'export'))
  mahi.write('export.csv', stdout)
  expect(stdout.match(/,Pat,/g)).toHaveLength(3)
  expect(stdout).not.toContain('Sam')
  const other = await start()
  other.write('export.csv', stdout)
  expect(await other.runJson(asReviewer('Pat', 'apply', 'export.csv'))).toMatchObject({
    changed: 3,
    titles: { confirmed: 2, disputed: 0, unknown: 1 },
  })
  const { code, stderr } = await mahi.run(asReviewer('Patt', 'export'))
  expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean "Pat"?')])
})

test('a code that the catalogue no longer has is named in the export and the refusal', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,decision\nrig hand,B2\nkindy,A1\n')
  await mahi.run(asReviewer('Pat', 'apply', 'done.csv'))
  mahi.write('next.ndjson', '{"occupationCode":"A1"}\n{"occupationCode":"C3"}\n')
  await mahi.run(['occupations', 'import', '--replace', 'next.ndjson'])
  mahi.write('replaced.csv', 'occupationCode,replacedBy\nB2,C3\n')
  await mahi.run(['occupations', 'import', 'replaced.csv'])
  expect((await mahi.run(['occupations', 'show', 'B2'])).stderr).toMatch(/Z, replaced by "C3"\n$/)

  const { stdout } = await mahi.run(EXPORT)
  mahi.write('export.csv', stdout)
  expect(stdout).toMatch(/^kindy,A1,.*,yes,\nrig hand,B2,.*,no,C3\n$/m)
  const refused = await mahi.run(asReviewer('Pat', 'apply', 'export.csv'))
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'export.csv:3: decision: is "B2", no longer in the catalogue, replaced by "C3". Decide on a code of the catalogue or on "unknown", or leave the decision empty\nNothing was stored: 1 fault.\n',
  ])
  mahi.write('edited.csv', stdout.replace('rig hand,B2', 'rig hand,C3'))
  expect(await mahi.runJson(asReviewer('Pat', 'apply', 'edited.csv'))).toMatchObject({ changed: 1 })
})
