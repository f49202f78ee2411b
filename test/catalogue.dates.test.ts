import { expect, onTestFinished, test, vi } from 'vitest'
import { askPage, get, type OccupationPage } from './support/catalogue.ts'
import { Service } from './support/service.ts'

/** The date of each record, by its code. */
async function readDates(service: Service): Promise<Record<string, string>> {
  const page = (await get(service, '/v1/occupations?Limit=100')).json<OccupationPage>()
  return Object.fromEntries(page.data.map((record) => [record.occupationCode, record.lastUpdatedDate]))
}

/** Sets what time it is for the service, as if its clock were moved. */
function setClock(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: milliseconds })
  onTestFinished(() => void vi.useRealTimers())
}

test('an import dates the records that it creates or changes, and no others, all with one date', async () => {
  const service = await Service.start()
  const record = (occupationCode: string, titleEnglish: string) => ({ occupationCode, titleEnglish })
  const first = await service.import(['A', 'B', 'C', 'D'].map((code) => record(code, 'one')))
  expect(await readDates(service)).toEqual(
    Object.fromEntries(['A', 'B', 'C', 'D'].map((code) => [code, first.lastUpdatedDate])),
  )

  const second = await service.import([
    record('A', 'one'),
    record('B', 'two'),
    record('E', 'one'),
    record('C', 'two'),
  ])
  expect(second).toMatchObject({ created: 1, updated: 2, unchanged: 1, deleted: 0 })
  expect(await readDates(service)).toEqual({
    A: first.lastUpdatedDate,
    B: second.lastUpdatedDate,
    C: second.lastUpdatedDate,
    D: first.lastUpdatedDate,
    E: second.lastUpdatedDate,
  })
})

test('an import that changes nothing dates nothing, also where only the form of the records differs', async () => {
  const service = await Service.start()
  const record = { occupationCode: 'A', titleEnglish: 'Café', renumeration: { payLowerBound: 1 } }
  await service.import([record, { occupationCode: 'B' }])
  const before = await readDates(service)

  for (const same of [
    record,
    { renumeration: { payLowerBound: 1.0 }, titleEnglish: ' Cafe\u0301\u00a0', occupationCode: 'A' },
    { ...record, titleMaori: '', altJobTitlesEnglish: [], entryRequirements: {}, minorGroups: null },
    { ...record, lastUpdatedDate: '2001-01-01T00:00:00Z' },
  ]) {
    const summary = await service.import([same])
    expect(summary).toMatchObject({ created: 0, updated: 0, unchanged: 1, deleted: 0 })
    expect(summary).not.toHaveProperty('lastUpdatedDate')
  }
  // Nor does one that only shows what it would change.
  await service.import([{ occupationCode: 'A', titleEnglish: 'new' }, { occupationCode: 'C' }], {
    dryRun: true,
  })
  expect(await readDates(service)).toEqual(before)
  await service.import([record], { replace: true })
  expect(await readDates(service)).toEqual({ A: before.A })
})

test('the date of a record counts only with keepDates', async () => {
  const service = await Service.start()
  const written = {
    A: ['2001-01-01T00:00:00Z', '2001-01-01T00:00:00.000Z'],
    B: ['2001-01-01T12:00:00.5+12:00', '2001-01-01T00:00:00.500Z'],
    C: ['2001-01-01t00:00:00.123999z', '2001-01-01T00:00:00.123Z'],
    D: ['1950-01-01T00:00:00', '1950-01-01T00:00:00.000Z'],
    E: ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  }
  const records = Object.entries(written).map(([occupationCode, [lastUpdatedDate]]) => ({
    occupationCode,
    lastUpdatedDate,
  }))

  const { lastUpdatedDate } = await service.import(records)
  expect(new Set(Object.values(await readDates(service)))).toEqual(new Set([lastUpdatedDate]))
  const summary = await service.import(records, { keepDates: true })
  expect(summary).not.toHaveProperty('lastUpdatedDate')
  const kept = Object.fromEntries(Object.entries(written).map(([code, [, date]]) => [code, date]))
  expect(await readDates(service)).toEqual(kept)
  // A date in the future, or of no day, is a fault.
  const future = new Date(Date.now() + 3_600_000).toISOString()
  const keeping = (lastUpdatedDate: string) =>
    service.import([{ occupationCode: 'A', lastUpdatedDate }], { keepDates: true })
  await expect(keeping(future)).rejects.toThrow('in the future')
  await expect(keeping('2024-02-30T00:00:00Z')).rejects.toThrow('RFC 3339')
  expect(await readDates(service)).toEqual(kept)
})

test('an import is dated later than every date stored, also when the clock is behind them', async () => {
  const service = await Service.start()
  const now = Date.now()
  await service.import([{ occupationCode: 'A' }])
  setClock(now - 7_200_000)
  const second = await service.import([{ occupationCode: 'B' }])
  // In the same millisecond.
  const third = await service.import([{ occupationCode: 'A', titleEnglish: 'new' }])

  const { A, B } = await readDates(service)
  expect([A, B]).toEqual([third.lastUpdatedDate, second.lastUpdatedDate])
  expect(Date.parse(String(B))).toBeGreaterThanOrEqual(now)
  expect(String(A) > String(B)).toBe(true)
})

test('an import is dated later than a date that is not stored any more', async () => {
  const service = await Service.start()
  const now = Date.now()
  await service.import([{ occupationCode: 'A' }])
  // The clock is ahead, and is put right.
  setClock(now + 7_200_000)
  const seen = (await service.import([{ occupationCode: 'B' }])).lastUpdatedDate ?? ''
  setClock(now)
  await service.import([{ occupationCode: 'A' }], { replace: true })
  await service.import([{ occupationCode: 'C' }])

  const page = await askPage(service, `/v1/occupations?Filter.LastUpdatedAfter=${seen}`)
  expect(page.data.map(({ occupationCode }) => occupationCode)).toEqual(['C'])
})
