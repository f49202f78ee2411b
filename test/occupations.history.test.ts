import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listDifferences, readRecordAt } from '../src/catalogue/history/past.ts'
import { listRevisions, readKept } from '../src/catalogue/history/revision-log.ts'
import { type ImportOptions, importOccupations } from '../src/catalogue/import/import.ts'
import { readRemoved } from '../src/catalogue/records/replacements.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { readRevisions } from '../src/foundation/database/revisions.ts'
import { Installation } from './support/command.ts'
import { exportText, mapLines, replaceCode, returnTo } from './support/opened.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/service.ts'
import { readState } from './support/state.ts'

async function load(database: Database, records: readonly unknown[], options: ImportOptions = {}) {
  return await importOccupations(database, sourceOf(records), { acceptDamaged: true, ...options })
}

const currentRevision = async (database: Database) => (await readRevisions(database)).catalogue.number

const record = (number: number, title: string) => ({
  occupationCode: `O${number}`,
  titleEnglish: title,
  minorGroups: [{ minorGroup: { code: `M${number % 3}` } }],
})

const numbers = fc.uniqueArray(fc.nat(25), { minLength: 1, maxLength: 15 })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('import' as const),
      numbers,
      title: fc.constantFrom('One', 'Two', 'Three'),
      replace: fc.boolean(),
      oldDate: fc.option(fc.constantFrom('2001-01-01T00:00:00.000Z', '2002-02-02T00:00:00.000Z')),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('return' as const), back: fc.nat(5) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('replace' as const), old: fc.nat(25), by: fc.nat(25) }),
  },
)

test('whatever its history, the catalogue of every revision can be read and returned to', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const database = await openTemporary()
      const exports = new Map<number, string>()
      const remember = async () => exports.set(await currentRevision(database), await exportText(database))
      await remember()
      for (const each of steps) {
        if (each.kind === 'import') {
          const date = each.oldDate === null ? {} : { lastUpdatedDate: each.oldDate }
          const records = each.numbers.map((number) => ({ ...record(number, each.title), ...date }))
          await load(database, records, { replace: each.replace, keepDates: each.oldDate !== null })
        } else if (each.kind === 'return') {
          const revisions = [...exports.keys()]
          const to = revisions[Math.max(0, revisions.length - 1 - each.back)] ?? 0
          if (exports.get(to) === '') continue
          await returnTo(database, to)
          // Its export is the one that was made at that revision, dates included.
          expect(await exportText(database)).toBe(exports.get(to))
        } else {
          // Codes that never were, and chains that lead back, are refused.
          await replaceCode(database, `O${each.old}`, [`O${each.by}`]).catch((error: Error) =>
            expect(error.message).toMatch(/neither has nor had|leads back to itself/),
          )
        }
        await remember()
        await readState(database)
      }
      for (const [revision, text] of exports) {
        expect(await exportText(database, 'ndjson', revision)).toBe(text)
        const documents = mapLines(text)
        for (let number = 0; number <= 25; number++)
          expect(await readRecordAt(database, `O${number}`, revision)).toBe(documents.get(`O${number}`))
      }
      const [first, last] = [[...exports.keys()][0] ?? 0, await currentRevision(database)]
      const applied = mapLines(exports.get(first) ?? '')
      for await (const { code, after } of listDifferences(database, first, last)) {
        if (after === undefined) applied.delete(code)
        else applied.set(code, after)
      }
      expect(applied).toEqual(mapLines(exports.get(last) ?? ''))
    }),
    cases(12),
  )
})

test('the export of a revision, imported with its dates, returns to it', async () => {
  const mahi = await new Installation().fill([record(1, 'One'), record(2, 'Two')])
  const before = await mahi.catalogue()
  mahi.write('next.ndjson', `${JSON.stringify(record(1, 'Uno'))}\n${JSON.stringify(record(3, 'Three'))}\n`)
  await mahi.run(['occupations', 'import', '--replace', 'next.ndjson'])

  const { stdout, stderr } = await mahi.run(['occupations', 'export', '--at', '1'])
  expect(stdout).toBe(before)
  expect(stderr).toContain('Exported 2 records of revision 1 from')
  const options = ['--replace', '--keep-dates']
  expect(await mahi.runJson(['occupations', 'import', ...options, '-'], { input: stdout })).toMatchObject({
    created: 1,
    updated: 1,
    deleted: 1,
  })
  expect(await mahi.catalogue()).toBe(before)
  const unknown = await mahi.run(['occupations', 'export', '--at', '9'])
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toContain('There is no revision 9: the newest is 3')
})

test('a revision names its command, its files and what it changed', async () => {
  const database = await openTemporary()
  const files = [{ name: 'one.ndjson', sha256: 'ab'.repeat(32) }]
  await load(database, [record(1, 'One'), record(2, 'Two')], {
    origin: () => ({ command: 'import', files }),
  })
  await load(database, [record(1, 'Uno')], { replace: true })
  // Nothing changes, so no revision is made.
  await load(database, [record(1, 'Uno')])
  expect(await listRevisions(database, 2)).toMatchObject([
    { number: 2, command: 'import', created: 0, updated: 1, deleted: 1, total: 1, kept: true },
    { number: 1, command: 'import', files, created: 2, updated: 0, deleted: 0, total: 2, kept: true },
  ])
})

test('the basis of pay is of the whole catalogue, and no import mixes two', async () => {
  const mahi = await new Installation().fill([record(1, 'One')])
  mahi.write('one.ndjson', `${JSON.stringify(record(1, 'One'))}\n`)
  mahi.write('two.ndjson', `${JSON.stringify(record(2, 'Two'))}\n`)
  const load = (...options: string[]) => mahi.run(['occupations', 'import', ...options])
  const bases = async () => {
    const { revisions } = (await mahi.runJson(['occupations', 'history'])) as {
      revisions: { payBasis: string }[]
    }
    return revisions.map(({ payBasis }) => payBasis)
  }
  const nzd = ['--pay-basis', 'NZD 2025, New Zealand']
  const usd = ['--pay-basis', 'USD 2023, United States']
  // The records stay as they are; only what their pay is becomes known, and stays so.
  const stated = await load(...nzd, 'one.ndjson')
  expect(stated).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      '1 unchanged, 0 deleted. What the amounts of pay are: "NZD 2025, New Zealand", before not stated.',
    ),
  })
  expect((await load('two.ndjson')).code).toBe(0)
  expect(await bases()).toEqual(['NZD 2025, New Zealand', 'NZD 2025, New Zealand', '', ''])
  expect((await mahi.run(['occupations', 'history'])).stdout).toContain('pay in NZD 2025, New Zealand')

  const refused = await load(...usd, 'one.ndjson')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('both would be mixed')])
  expect((await load(...usd, '--replace', 'one.ndjson')).code).toBe(0)
  const { stderr } = await load('--replace', 'two.ndjson')
  expect(stderr).toContain('What the amounts of pay are: not stated, before "USD 2023, United States".')
  expect((await bases()).slice(0, 2)).toEqual(['', 'USD 2023, United States'])

  for (const wrong of ['dollars', 'XYZ 2025', `NZD ${'9'.repeat(100)}`, 'NZD 2025\u001b[2J'])
    expect((await load('--pay-basis', wrong, 'one.ndjson')).stderr).toContain('It must be')
})

test('a removed code has its date and its successors until it comes back', async () => {
  const database = await openTemporary()
  await load(database, [record(1, 'One'), record(2, 'Two'), record(3, 'Three')])
  await load(database, [record(1, 'One'), record(3, 'Three')], { replace: true })
  expect(await readRemoved(database, 'O2')).toMatchObject({ code: 'O2', replacedBy: [] })
  const removed = (await readRemoved(database, 'O2'))?.removed

  await load(database, [{ occupationCode: 'O2', replacedBy: ['O1'] }])
  expect(await readRemoved(database, 'O2')).toEqual({ code: 'O2', removed, replacedBy: ['O1'] })
  await load(database, [{ occupationCode: 'O3', replacedBy: 'O1, O2' }])
  expect(await readRemoved(database, 'O3')).toMatchObject({ replacedBy: ['O1', 'O2'] })
  expect(await exportText(database)).not.toContain('O3')

  await load(database, [record(2, 'Two')])
  expect(await readRemoved(database, 'O2')).toBeUndefined()
  await readState(database)
})

test('a replacement that leads back to itself, to nothing or to a described record is refused', async () => {
  const database = await openTemporary()
  await load(database, [record(1, 'One'), record(2, 'Two'), record(3, 'Three')])
  await replaceCode(database, 'O1', ['O2'])
  const before = await exportText(database)
  await expect(replaceCode(database, 'O2', ['O1'])).rejects.toThrow('leads back to itself')
  await expect(replaceCode(database, 'O3', ['O9'])).rejects.toThrow('names "O9", which the catalogue')
  const marked = { occupationCode: 'O3', replacedBy: ['O2'] }
  for (const [records, message] of [
    [
      [record(3, 'Drei'), marked],
      'test.ndjson:2: replacedBy: marks "O3" as removed, and test.ndjson:1 describes',
    ],
    [[{ ...marked, titleEnglish: 'Drei' }], 'the record also has titleEnglish'],
    [[{ ...marked, replacedBy: [7] }], 'must be a list of 1 to 100 codes'],
  ] as const)
    await expect(load(database, records)).rejects.toThrow(message)
  expect(await exportText(database)).toBe(before)
})

test('expired revisions are deleted, except the previous one', async () => {
  const database = await openTemporary()
  const day = 86_400_000
  const retention = { historyDays: 2 }
  await load(database, [record(1, 'One'), record(2, 'Two')])
  await load(database, [record(1, 'Uno')], { replace: true })
  await load(database, [record(1, 'Eins')])
  // As if all of it had happened a week ago.
  await database.write('catalogue', async (writer) => {
    await writer.run('update catalogue_revision set stored = stored - $1', [7 * day])
    await writer.run('update occupation_removed set removed = removed - $1', [7 * day])
  })
  await load(database, [record(1, 'Un')], { retention })
  expect(await readKept(database)).toEqual({ oldest: 3, current: 4 })
  expect(await database.all('select until from occupation_past')).toEqual([{ until: 4 }])
  // A removed code stays known for ever.
  expect(await readRemoved(database, 'O2')).toBeDefined()
  await expect(returnTo(database, 2)).rejects.toThrow(
    'Revision 2 is no longer kept. The history holds 3 to 4; HISTORY_DAYS says how long',
  )
  await expect(returnTo(database, 5)).rejects.toThrow('There is no revision 5: the newest is 4')
  await returnTo(database, 3)
  expect(await exportText(database)).toContain('"Eins"')
})
