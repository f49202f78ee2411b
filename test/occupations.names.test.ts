import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { readSynonymLines } from '../src/catalogue/names/files.ts'
import {
  listSources,
  readSearchNames,
  readStored,
  removeSource,
  storeSearchNames,
  weighSource,
} from '../src/catalogue/names/names.ts'
import { listForms } from '../src/catalogue/onet/titles.ts'
import { buildIndex, OccupationSearch } from '../src/engines/finding/index.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { Installation } from './support/command.ts'
import { sourceOf } from './support/source.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

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
  const database = await openDatabase(temporaryDatabaseUrl())
  onTestFinished(() => database.close())
  const write = <T>(work: Parameters<typeof database.write<T>>[1]) => database.write('catalogue', work)
  return { database, write }
}

test('each source is added, listed, weighted, replaced and removed alone', async () => {
  const { database, write } = await open()
  const store = (source: string, texts: Record<string, string[]>, replaces: 'none' | 'source' = 'none') =>
    write((writer) => storeSearchNames(writer, source, named(texts), replaces))
  expect(await store('Employers', { A1: ['Kindy Teacher'], B2: ['Trucker'] })).toEqual({
    added: 2,
    removed: 0,
  })
  expect(await store('Trade', { B2: ['Trucker', 'Teamster'] })).toEqual({ added: 2, removed: 0 })
  expect(await store('Employers', { B2: ['Trucker', 'Haulier'] })).toEqual({ added: 1, removed: 0 })
  const sources = () => database.snapshot(listSources)
  expect(await sources()).toEqual([
    { source: 'Employers', weight: 1, names: 3, occupations: 2 },
    { source: 'Trade', weight: 1, names: 2, occupations: 1 },
  ])
  expect(await write((writer) => weighSource(writer, 'Trade', 2.5))).toBe(true)
  expect(await write((writer) => weighSource(writer, 'Trade', 2.5))).toBe(false)
  // A name of two sources is indexed once, with the larger weight.
  const all = () => database.snapshot((reader) => readSearchNames(reader, { after: '', upTo: 'Z' }))
  expect((await all()).map(({ name, weight }) => [name, weight])).toEqual([
    ['Kindy Teacher', 1],
    ['Haulier', 1],
    ['Teamster', 2.5],
    ['Trucker', 2.5],
  ])
  expect(await store('Employers', { B2: ['Haulier'] }, 'source')).toEqual({ added: 0, removed: 2 })
  expect(await write((writer) => removeSource(writer, 'Trade'))).toBe(2)
  expect((await all()).map(({ name }) => name)).toEqual(['Haulier'])
  await expect(write((writer) => removeSource(writer, 'Employer'))).rejects.toThrow(
    'There is no source "Employer" (did you mean "Employers"?); the sources are "Employers"',
  )
})

test('two sources with nearly one name are refused, and nothing is stored', async () => {
  const { database, write } = await open()
  await write((writer) => storeSearchNames(writer, 'Employers', named({ A1: ['x'] }), 'none'))
  for (const similar of ['employers', 'EMPLOYERS', 'Emp loyers']) {
    await expect(
      write((writer) => storeSearchNames(writer, similar, named({ A1: ['y'] }), 'none')),
    ).rejects.toThrow('There is a source "Employers"')
  }
  expect((await database.snapshot((reader) => readStored(reader))).map(({ name }) => name)).toEqual(['x'])
})

test('the names of an import replace those of their source only', async () => {
  const { database, write } = await open()
  await write((writer) => storeSearchNames(writer, 'Employers', named({ A1: ['Kindy Teacher'] }), 'none'))
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

test('import-names adds with --add, keeps other sources, and asks for --replace', async () => {
  const mahi = await new Installation().fill(RECORDS)
  mahi.write('one.csv', 'occupationCode,name\nB2,Trucker\n')
  mahi.write('two.csv', 'occupationCode,name\nB2,Teamster\n')
  const add = [...NAMES, '--add', '--source', 'Employers']
  expect(await mahi.runJson([...add, 'one.csv'])).toEqual({ added: 1, removed: 0 })
  expect(await mahi.runJson([...add, 'two.csv'])).toEqual({ added: 1, removed: 0 })
  const { code, stderr } = await mahi.run([...NAMES, 'one.csv'])
  expect([code, stderr]).toEqual([
    1,
    'The names of these codes have other sources too, and 2 of their names would be removed: 2 of "Employers". Give --add or --source to keep them, or --replace to remove the names of all sources\n',
  ])
  expect(await mahi.runJson(['occupations', 'names', 'list'])).toEqual({
    sources: [{ source: 'Employers', weight: 1, names: 2, occupations: 1 }],
  })
  const exported = await mahi.run(['occupations', 'names', 'export', 'Employers'])
  expect(exported.stdout).toBe('occupationCode,name,language\nB2,Teamster,en\nB2,Trucker,en\n')
  expect(await mahi.runJson([...NAMES, '--replace', 'one.csv'])).toEqual({ added: 1, removed: 2 })
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

test('O*NET titles with an abbreviation are names in both forms, and so is the short title', () => {
  expect(listForms({ title: 'Chief Operating Officer (COO)', short: 'COO', sources: 1 })).toEqual([
    'Chief Operating Officer (COO)',
    'Chief Operating Officer',
    'COO',
    'COO',
  ])
  expect(listForms({ title: 'Certified Nurses Aide', short: 'CNA', sources: 1 })).toContain('CNA')
  expect(listForms({ title: 'Clerk (All Other)', sources: 1 })).toEqual(['Clerk (All Other)'])
})

test('the weight of a name decides between occupations that share its words', () => {
  const document = (code: string, weight: number) => ({
    code,
    names: [
      { text: `Person ${code}`, language: 'en' as const, field: 'title' as const },
      { text: 'Dispatch Hand', language: 'en' as const, field: 'searchOnly' as const, weight },
    ],
    texts: [],
    minorGroups: [],
    majorGroups: [],
  })
  const first = (weights: [number, number]) => {
    const documents = [document('A', weights[0]), document('B', weights[1])]
    const index = buildIndex(documents, { revision: 'r' })
    return new OccupationSearch(index).search({ query: 'dispatch hand work', limit: 2 }).results[0]
      ?.occupationCode
  }
  expect([first([1, 4]), first([4, 1])]).toEqual(['B', 'A'])
})

test('the sample of synonyms can be imported', () => {
  const text = readFileSync(new URL('../samples/synonyms.txt', import.meta.url), 'utf8')
  const lists = readSynonymLines('synonyms.txt', text)
  expect(lists).toContainEqual(['RN', 'registered nurse'])
  expect(lists).toContainEqual(['acct mgr', 'account manager'])
  expect(text).toMatch(/^# English abbreviations and trade words/)
  const search = new OccupationSearch(
    buildIndex(
      ['Registered Nurse', 'Account Manager', 'Human Resources Adviser', 'Carpenter'].map((title, at) => ({
        code: `C${at}`,
        names: [{ text: title, language: 'en', field: 'title' }],
        texts: [],
        minorGroups: [],
        majorGroups: [],
      })),
      { revision: 'r', synonyms: lists },
    ),
  )
  const find = (query: string) => search.search({ query, limit: 1 }).results[0]?.titleEnglish
  expect(['RN', 'acct mgr', 'HR adviser', 'chippy'].map(find)).toEqual([
    'Registered Nurse',
    'Account Manager',
    'Human Resources Adviser',
    'Carpenter',
  ])
})
