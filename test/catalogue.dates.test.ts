import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  addressOf,
  ask,
  askPage,
  get,
  type OccupationPage,
  type SampleRecord,
  walkPages,
} from './support/catalogue.ts'
import { cases } from './support/properties.ts'
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
  const third = await service.import([{ occupationCode: 'A', titleEnglish: 'new' }])

  const { A, B } = await readDates(service)
  expect([A, B]).toEqual([third.lastUpdatedDate, second.lastUpdatedDate])
  expect(Date.parse(String(B))).toBeGreaterThanOrEqual(now)
  expect(String(A) > String(B)).toBe(true)
})

test('two imports in one millisecond have two dates', async () => {
  const service = await Service.start()
  setClock(Date.now())
  for (const occupationCode of ['A', 'B', 'C']) await service.import([{ occupationCode }])

  const { A, B, C } = await readDates(service)
  expect(new Set([A, B, C]).size).toBe(3)
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

/** A reader's own copy of the catalogue, kept in step by asking for what is newer than the newest date seen. */
class Mirror {
  readonly records = new Map<string, SampleRecord>()
  #newest: string | undefined
  readonly #service: Service
  readonly #limit: number

  constructor(service: Service, limit: number) {
    this.#service = service
    this.#limit = limit
  }

  /** @param betweenPages what happens while the reader is between two pages */
  async update(betweenPages: () => Promise<void> = async () => undefined): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      const first = await ask(this.#service, this.#changes())
      const seen = await this.#walk(this.#changes(), betweenPages)
      const all = await askPage(this.#service, addressOf({}, { limit: 1 }))
      // Only pages of a single version show how far the copy has got.
      const again = await ask(this.#service, this.#changes(), { 'if-none-match': String(first.headers.etag) })
      if (again.statusCode !== 304) continue
      if (seen.length > 0) this.#newest = seen.sort().at(-1)
      if (all.totalCount === this.records.size) return
      // Only the total shows that something was deleted.
      this.records.clear()
      this.#newest = undefined
    }
    throw new Error('the copy does not get in step')
  }

  #changes(): string {
    const after = this.#newest === undefined ? '' : `&Filter.LastUpdatedAfter=${this.#newest}`
    return `/v1/occupations?Limit=${this.#limit}${after}`
  }

  async #walk(start: string, betweenPages: () => Promise<void>): Promise<string[]> {
    const dates: string[] = []
    let url: string | undefined = start
    while (url !== undefined) {
      const page: OccupationPage = await askPage(this.#service, url)
      for (const record of page.data) {
        this.records.set(record.occupationCode, record)
        dates.push(record.lastUpdatedDate)
      }
      await betweenPages()
      url = page.nextCursor === undefined ? undefined : `${start}&Cursor=${page.nextCursor}`
    }
    return dates
  }
}

async function readAll(service: Service): Promise<Map<string, SampleRecord>> {
  const records = new Map<string, SampleRecord>()
  for await (const { data } of walkPages(service, {}, 100)) {
    for (const record of data) records.set(record.occupationCode, record)
  }
  return records
}

const CODES = ['A', 'B', 'C', 'a', 'ā', '\u{1f600}']
/** What each of an import's records becomes: a title, or gone, or not part of the import. */
const anyImport = fc.record({
  becomes: fc.tuple(...CODES.map(() => fc.constantFrom('same', 'one', 'two', 'three', 'gone'))),
  /** How far the clock is from where it started, in milliseconds. */
  clock: fc.constantFrom(0, 0, 1, 1000, -1, -3_600_000, 3_600_000),
})

/** A catalogue with one import after another, each as far as possible like any before it. */
function startHistory(service: Service) {
  const start = Date.now()
  const titles = new Map<string, string>()
  const recordsOf = (codes: Iterable<string>) =>
    [...codes].map((occupationCode) => ({ occupationCode, titleEnglish: titles.get(occupationCode) ?? '' }))
  return {
    begin: async () => {
      titles.clear()
      titles.set('always', 'there')
      await service.import(recordsOf(titles.keys()), { replace: true })
    },
    run: async ({ becomes, clock }: { becomes: readonly string[]; clock: number }) => {
      setClock(start + clock)
      const touched = CODES.filter(
        (code, index) => becomes[index] !== 'gone' && (becomes[index] !== 'same' || titles.has(code)),
      )
      const gone = CODES.filter((code, index) => becomes[index] === 'gone' && titles.delete(code))
      for (const code of touched) {
        const title = becomes[CODES.indexOf(code)] ?? ''
        if (title !== 'same') titles.set(code, title)
      }
      await service.import(recordsOf(gone.length > 0 ? titles.keys() : touched), { replace: gone.length > 0 })
    },
  }
}

test('a reader that asks for what is newer than the newest date it has seen misses nothing, also between its pages', async () => {
  const service = await Service.start()
  const history = startHistory(service)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(anyImport, { minLength: 1, maxLength: 5 }),
      async (limit, imports) => {
        await history.begin()
        const mirror = new Mirror(service, limit)
        const waiting = [...imports]
        while (waiting.length > 0) {
          await mirror.update(async () => {
            const next = waiting.shift()
            if (next !== undefined) await history.run(next)
          })
          expect(mirror.records).toEqual(await readAll(service))
        }
      },
    ),
    cases(30, 10),
  )
})
