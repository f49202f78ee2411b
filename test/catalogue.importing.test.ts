import { expect, test } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { exportText } from './support/opened.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/source.ts'

const record = (occupationCode: string, titleEnglish = 'one') => ({ occupationCode, titleEnglish })

async function codesOf(database: Database): Promise<string[]> {
  const lines = (await exportText(database)).trim().split('\n').filter(Boolean)
  return lines.map((line) => (JSON.parse(line) as { occupationCode: string }).occupationCode)
}

async function open(...records: readonly object[]) {
  const database = await openTemporary()
  const run = (given: readonly object[], options = {}) =>
    importOccupations(database, sourceOf(given), options)
  await run(records)
  return { database, run }
}

test('an import changes what it names; with replace it deletes the rest, and in a dry run it only says so', async () => {
  const { database, run } = await open(record('A'), record('B'), record('C'))
  const given = [record('A'), record('B', 'two'), record('D')]
  const changed = { created: 1, updated: 1, unchanged: 1 }
  const before = await exportText(database)
  expect(await run(given, { replace: true, dryRun: true })).toMatchObject({ ...changed, deleted: 1 })
  expect(await exportText(database)).toBe(before)
  expect(await run(given)).toMatchObject({ ...changed, deleted: 0 })
  expect(await codesOf(database)).toEqual(['A', 'B', 'C', 'D'])
  expect(await run(given, { replace: true })).toMatchObject({
    created: 0,
    updated: 0,
    unchanged: 3,
    deleted: 1,
  })
  expect(await codesOf(database)).toEqual(['A', 'B', 'D'])
})

test('replace needs records: an empty input, or one of removed codes only, would delete the catalogue', async () => {
  const { database, run } = await open(record('A'), record('B'))
  for (const given of [[], [{ occupationCode: 'A', replacedBy: ['B'] }]])
    await expect(run(given, { replace: true })).rejects.toThrow('would delete the whole catalogue')
  expect(await codesOf(database)).toEqual(['A', 'B'])
  expect(await run([{ occupationCode: 'A', replacedBy: ['B'] }])).toMatchObject({ deleted: 1, successors: 1 })
  expect(await codesOf(database)).toEqual(['B'])
})

test('one fault stores nothing, and every fault is reported with its place', async () => {
  const { database, run } = await open(record('A'))
  const pay = { payLowerBound: 2, payMidLowerBound: 1 }
  const faulty = [
    record('B'),
    { ...record('C'), renumeration: pay },
    record('B', 'again'),
    { ...record('D'), altJobTitlesEnglish: Array.from({ length: 8 }, (_, index) => `t${index}`) },
    { ...record('E'), titleEnglish: 'two\nlines' },
    { titleEnglish: 'no code' },
    { ...record('F'), unknown: 1 },
    { occupationCode: 'A', replacedBy: ['nowhere'] },
  ]
  const refused = await run(faulty).catch((error: unknown) => error)
  const { faults } = refused as { faults: { line: number; field?: string }[] }
  const places = faults.map(({ line, field }) => `${line} ${field}`)
  expect(places).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^2 renumeration/),
      expect.stringMatching(/^3 occupationCode/),
      expect.stringMatching(/^4 altJobTitlesEnglish/),
      expect.stringMatching(/^5 titleEnglish/),
      expect.stringMatching(/^6 occupationCode/),
      expect.stringMatching(/^7 /),
    ]),
  )
  expect(await codesOf(database)).toEqual(['A'])
  await expect(run([{ occupationCode: 'A', replacedBy: ['nowhere'] }])).rejects.toThrow('nowhere')
  await expect(run([record('A'), { occupationCode: 'A', replacedBy: ['B'] }])).rejects.toThrow('as removed')
  expect(await codesOf(database)).toEqual(['A'])
})
