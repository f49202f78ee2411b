import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { readSynonymLines } from '../src/catalogue/names/files.ts'
import {
  listSources,
  readSearchNames,
  readStored,
  removeSource,
  storeSearchNames,
} from '../src/catalogue/names/names.ts'
import { Installation } from './support/command.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/source.ts'
import { makeXlsx } from './support/xlsx.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]
const NAMES = ['occupations', 'import-names']

const named = (texts: Readonly<Record<string, readonly string[]>>) =>
  new Map(
    Object.entries(texts).map(([code, names]) => [
      code,
      names.map((text) => ({ text, language: 'en' as const })),
    ]),
  )

async function open() {
  const database = await openTemporary()
  const write = <T>(work: Parameters<typeof database.write<T>>[1]) => database.write('catalogue', work)
  return { database, write }
}

test('each source is added, listed, replaced and removed alone', async () => {
  const { database, write } = await open()
  const store = (source: string, texts: Record<string, string[]>) =>
    write((writer) => storeSearchNames(writer, source, named(texts)))
  const first = { A1: ['Kindy Teacher'], B2: ['Trucker'] }
  expect(await store('Employers', first)).toEqual({ added: 2, removed: 0 })
  expect(await store('Trade', { B2: ['Trucker', 'Teamster'] })).toEqual({ added: 2, removed: 0 })
  expect(await database.snapshot(listSources)).toMatchObject([
    { source: 'Employers', names: 2, occupations: 2 },
    { source: 'Trade', names: 2, occupations: 1 },
  ])
  const all = async () => {
    const names = await database.snapshot((reader) => readSearchNames(reader, { after: '', upTo: 'Z' }))
    return names.map(({ name }) => name)
  }
  expect(await all()).toEqual(['Kindy Teacher', 'Teamster', 'Trucker'])
  expect(await store('Employers', { B2: ['Haulier'] })).toEqual({ added: 1, removed: 2 })
  expect(await write((writer) => removeSource(writer, 'Trade'))).toBe(2)
  expect(await all()).toEqual(['Haulier'])
  await expect(write((writer) => removeSource(writer, 'Employer'))).rejects.toThrow(
    'There is no source "Employer" (did you mean "Employers"?); the sources are "Employers"',
  )
})

test('two sources with nearly one name are refused, and nothing is stored', async () => {
  const { database, write } = await open()
  await write((writer) => storeSearchNames(writer, 'Employers', named({ A1: ['x'] })))
  for (const similar of ['employers', 'EMPLOYERS', 'Emp loyers']) {
    await expect(write((writer) => storeSearchNames(writer, similar, named({ A1: ['y'] })))).rejects.toThrow(
      'There is a source "Employers"',
    )
  }
  expect((await database.snapshot((reader) => readStored(reader))).map(({ name }) => name)).toEqual(['x'])
})

test('the names of an import replace those of their source only', async () => {
  const { database, write } = await open()
  await write((writer) => storeSearchNames(writer, 'Employers', named({ A1: ['Kindy Teacher'] })))
  const searchNames = (texts: Record<string, string[]>) => () => ({ source: 'O*NET', names: named(texts) })
  const options = { replace: true }
  await importOccupations(database, sourceOf(RECORDS), {
    ...options,
    searchNames: searchNames({ A1: ['Old'] }),
  })
  await importOccupations(database, sourceOf(RECORDS), {
    ...options,
    searchNames: searchNames({ A1: ['New'] }),
  })
  const stored = await database.snapshot((reader) => readStored(reader))
  expect(stored.map(({ source, name }) => `${source}: ${name}`)).toEqual([
    'Employers: Kindy Teacher',
    'O*NET: New',
  ])
})

test('import-names replaces the names of its source, and keeps those of others', async () => {
  const mahi = await new Installation().fill(RECORDS)
  mahi.write('one.csv', 'occupationCode,name\nB2,Trucker\nA1,Kindy Teacher\n')
  mahi.write('two.csv', 'occupationCode,name\nB2,=Teamster\nB2,Trucker\n')
  const employers = [...NAMES, '--source', 'Employers']
  expect(await mahi.runJson([...employers, 'one.csv'])).toEqual({ added: 2, removed: 0 })
  expect(await mahi.runJson([...NAMES, 'one.csv'])).toEqual({ added: 2, removed: 0 })
  expect(await mahi.runJson([...employers, 'two.csv'])).toEqual({ added: 1, removed: 1 })
  // Only the search shows them.
  expect(await mahi.catalogue()).not.toContain('Teamster')
  expect(await mahi.runJson(['occupations', 'find', 'teamster'])).toMatchObject({
    results: [{ occupationCode: 'B2', matchedField: 'searchOnly' }],
  })
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toEqual({
    sources: [
      { source: 'Employers', names: 2, occupations: 1 },
      { source: 'imported', names: 2, occupations: 2 },
    ],
  })
  expect((await mahi.run(['occupations', 'names', 'list'])).stderr).toBe(
    '"Employers"  2 names of 1 occupation\n"imported"  2 names of 2 occupations\n',
  )
  const exported = await mahi.run(['occupations', 'names', 'export', 'Employers'])
  // A spreadsheet would run it as a formula.
  expect(exported.stdout).toBe("\ufeffoccupationCode,name,language\nB2,'=Teamster,en\nB2,Trucker,en\n")
  mahi.write('exported.csv', exported.stdout)
  expect(await mahi.runJson([...employers, 'exported.csv'])).toEqual({ added: 0, removed: 0 })
  expect((await mahi.run(['occupations', 'names', 'remove', 'imported'])).stderr).toBe(
    'Removed 2 names of the source "imported".\n',
  )
})

test('a name for an unknown code and one with a line end are refused by file, line and column', async () => {
  const mahi = await new Installation().fill(RECORDS)
  mahi.write('names.csv', 'occupationCode,name\nB2,Trucker\nX9,Wizard\n')
  const unknown = await mahi.run([...NAMES, 'names.csv'])
  expect(unknown.stderr).toBe(
    'names.csv:3: occupationCode: is "X9", which the catalogue does not have\nNothing was stored: 1 fault.\n',
  )
  mahi.write('lines.csv', 'occupationCode,name\nB2,"two\nlines"\nA1,PÅ«kenga\n')
  const lines = await mahi.run([...NAMES, 'lines.csv'])
  expect(lines.stderr).toContain('lines.csv:2: name: must be one line without tabs, not "two\\nlines"')
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toEqual({ sources: [] })
})

test('codes of a workbook are read as their cells show them, and the import says so', async () => {
  const mahi = await new Installation().fill([{ occupationCode: '0110' }])
  const code = { number: 110, format: '0000' }
  const rows = ['Sister', 'Matron'].map((name) => [code, name])
  mahi.write('names.xlsx', makeXlsx({ Names: [['occupationCode', 'name'], ...rows] }))
  const { stderr } = await mahi.run([...NAMES, 'names.xlsx'])
  expect(stderr).toBe(
    '2 cells were read as the sheet shows them: A2 as 0110, where the sheet holds 110; A3 as 0110, where the sheet holds 110.\nSearch-only names: 2 added, 0 removed.\n',
  )
})

test('repaired names are counted and listed', async () => {
  const mahi = await new Installation().fill(RECORDS)
  mahi.write('names.csv', 'occupationCode,name,language\nB2,Trucker,en\nA1,NÄ“hi kÅ«kÅ«,mi\n')
  const { code, stderr } = await mahi.run([...NAMES, 'names.csv'])
  expect([code, stderr]).toEqual([
    0,
    'Warning: the text of 1 row is UTF-8 that was decoded as Windows-1252 or Latin-1. It was repaired:\n  names.csv:3: A1: Nēhi kūkū\nSearch-only names: 2 added, 0 removed.\n',
  ])
  expect(await mahi.runJson([...NAMES, 'names.csv'])).toEqual({
    added: 0,
    removed: 0,
    repaired: {
      count: 1,
      first: [{ file: 'names.csv', line: 3, occupationCode: 'A1', name: 'Nēhi kūkū', language: 'mi' }],
    },
  })
})

test('a name that only loses the macrons of the one that it replaces is refused, unless that is accepted', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const importNames = [...NAMES, '--source', 'Mac']
  mahi.write('good.csv', 'occupationCode,name\nA1,Kaiako pēpi\n')
  mahi.write('lost.csv', 'occupationCode,name\nB2,Trucker\nA1,Kaiako pepi\n')
  mahi.write('both.csv', 'occupationCode,name\nA1,Kaiako pepi\nA1,Kaiako pēpi\n')
  await mahi.run([...importNames, 'good.csv'])
  {
    const { code, stderr } = await mahi.run([...importNames, 'lost.csv'])
    expect([code, stderr]).toEqual([
      1,
      'lost.csv:3: name: is "Kaiako pepi", and would replace "Kaiako pēpi" of the source "Mac": the file has lost its macrons. Save it as UTF-8, or give --accept-damaged if they are wrong\nNothing was stored: 1 fault.\n',
    ])
  }
  expect(await mahi.runJson([...importNames, 'both.csv'])).toEqual({ added: 1, removed: 0 })
  expect(await mahi.runJson([...importNames, '--accept-damaged', 'lost.csv'])).toEqual({
    added: 1,
    removed: 1,
  })
})

test('the sample of synonyms can be imported', () => {
  const text = readFileSync(new URL('../samples/synonyms.txt', import.meta.url), 'utf8')
  const lists = readSynonymLines('synonyms.txt', text)
  expect(lists).toContainEqual(['RN', 'registered nurse'])
})
