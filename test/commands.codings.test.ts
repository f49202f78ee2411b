import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

async function start(): Promise<Installation> {
  return await new Installation().fill(RECORDS)
}

const LIST = ['occupations', 'codings', 'list']

const asReviewer = (name: string, ...parameters: string[]) => [
  'occupations',
  'codings',
  ...parameters,
  '--reviewer',
  name,
]

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

  const list = await mahi.run([...LIST, '--state', 'disputed'])
  expect(list.stderr).toBe(
    '"Rig  hand": B2 ("Pat"), A1 ("Sam")\nReviewed titles: 0 confirmed, 1 disputed, 1 unknown.\n',
  )
  // The objects of both commands are those of the API.
  const { titles } = (await mahi.runJson([...LIST, '--state', 'disputed'])) as { titles: object[] }
  expect(await mahi.runJson(asReviewer('Sam', 'confirm', 'other.csv'))).toMatchObject({
    changed: 0,
    disputed: titles,
  })
  const { stdout } = await mahi.run(['occupations', 'codings', 'export'])
  expect(stdout).toMatch(
    /^\ufefftitle,decision,language,state,reviewer,decided,inCatalogue,replacedBy\nkindy,unknown,en,unknown,Pat,\d{4}-[^,]+,,\n/,
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
    expect(await mahi.runJson(LIST)).toMatchObject({ confirmed: 0, unknown: 0 })
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

test('an export restores the decisions of one reviewer, through a spreadsheet too', async () => {
  const mahi = await start()
  mahi.write('pat.csv', 'title,decision,language\nrig hand,B2,en\nMāhita,A1,mi\nvibe manager,unknown,en\n')
  mahi.write('sam.csv', 'title,decision\nrig hand,A1\n')
  await mahi.run(asReviewer('Pat', 'confirm', 'pat.csv'))
  await mahi.run(asReviewer('Sam', 'confirm', 'sam.csv'))
  const { stdout } = await mahi.run(asReviewer('Pat', 'export'))
  mahi.write('export.csv', stdout)
  expect(stdout.match(/,Pat,/g)).toHaveLength(3)
  expect(stdout).not.toContain('Sam')
  await mahi.run(asReviewer('Pat', 'undo', '--all'))
  expect(await mahi.runJson(asReviewer('Pat', 'confirm', 'export.csv'))).toMatchObject({
    changed: 3,
    titles: { confirmed: 1, disputed: 1, unknown: 1 },
  })
  const { code, stderr } = await mahi.run(asReviewer('Patt', 'export'))
  expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean "Pat"?')])
})

test('a code that the catalogue no longer has is named in the list, the export and the refusal', async () => {
  const mahi = await start()
  mahi.write('done.csv', 'title,decision\nrig hand,B2\nkindy,A1\n')
  await mahi.run(asReviewer('Pat', 'confirm', 'done.csv'))
  mahi.write('next.ndjson', '{"occupationCode":"A1"}\n{"occupationCode":"C3"}\n')
  await mahi.run(['occupations', 'import', '--replace', 'next.ndjson'])
  expect((await mahi.run(LIST)).stderr).toBe(
    'Reviewed titles: 2 confirmed, 0 disputed, 0 unknown.\nThe catalogue no longer has 1 code that reviewers chose: "B2". 1 confirmed title is no name of the search for this reason. List the titles with --state, and decide about them again.\n',
  )
  await mahi.run(['occupations', 'replace', 'B2', '--by', 'C3'])
  const { stderr } = await mahi.run([...LIST, '--state', 'confirmed'])
  expect(stderr).toContain(
    '"kindy": A1 ("Pat")\n"rig hand": B2, no longer in the catalogue, replaced by "C3" ("Pat")\n',
  )
  expect(await mahi.runJson(LIST)).toMatchObject({
    confirmed: 2,
    confirmedWithoutName: 1,
    missingCodes: [{ occupationCode: 'B2', removedDate: expect.any(String), replacedBy: ['C3'] }],
  })
  mahi.write('jobs.csv', 'title\nrig hand\n')
  const reviewed = await mahi.run(['occupations', 'code', 'jobs.csv', '--review', '--reviewer', 'Sam'], {
    input: 'q',
  })
  expect(reviewed.stderr).toContain('"Pat" decided: B2, no longer in the catalogue, replaced by "C3"\n')
  expect((await mahi.run(['occupations', 'show', 'B2'])).stderr).toMatch(/Z, replaced by "C3"\n$/)

  const { stdout } = await mahi.run(['occupations', 'codings', 'export'])
  mahi.write('export.csv', stdout)
  expect(stdout).toMatch(/^kindy,A1,.*,yes,\nrig hand,B2,.*,no,C3\n$/m)
  const refused = await mahi.run(asReviewer('Pat', 'confirm', 'export.csv'))
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'export.csv:3: decision: is "B2", no longer in the catalogue, replaced by "C3". Decide on a code of the catalogue or on "unknown", or leave the decision empty\nNothing was stored: 1 fault.\n',
  ])
  mahi.write('edited.csv', stdout.replace('rig hand,B2', 'rig hand,C3'))
  expect(await mahi.runJson(asReviewer('Pat', 'confirm', 'edited.csv'))).toMatchObject({ changed: 1 })
})
