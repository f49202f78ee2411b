import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findDefinition, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { compileSpread, type Spread } from '../src/engines/checking/engine/spread.ts'
import { check } from './support/checking.ts'
import { define } from './support/definition.ts'
import { cases } from './support/properties.ts'

const enrolments = loadDefinition(findDefinition('sdr')).resources.find(({ name }) => name === 'enrolments')
const fields = enrolments?.fields ?? []
const spreads = (enrolments?.recordChecks ?? []).filter((check): check is Spread => check.kind === 'spread')
const within = spreads.find(({ months }) => months === 'within')
const outside = spreads.find(({ months }) => months === 'outside')
const DAY = 86_400_000

/** A record as the check sees it. */
function makeRecord(factor: string, start: string, end: string, months: readonly string[]): string[] {
  const record = fields.map(() => '')
  const set = (position: number | undefined, value: string) => {
    if (position !== undefined) record[position] = value
  }
  set(within?.total, factor)
  set(within?.from, start)
  set(within?.to, end)
  for (const [index, value] of months.entries()) set(within?.parts[index], value)
  return record
}

function find(check: Spread | undefined, record: readonly string[]) {
  if (check === undefined) throw new Error('The definition has no such check.')
  return compileSpread(check, fields, 2025)(record)
}

/** The months of 2025 in which a period has a day, and the number of all its months: day by day. */
function listMonths(start: string, end: string): { inYear: Set<number>; count: number } {
  const all = new Set<string>()
  for (let day = Date.parse(start); day <= Date.parse(end); day += DAY) {
    all.add(new Date(day).toISOString().slice(0, 7))
  }
  const inYear = [...all].filter((month) => month.startsWith('2025')).map((month) => Number(month.slice(5)))
  return { inYear: new Set(inYear), count: all.size }
}

const date = fc
  .integer({ min: Date.UTC(2024, 0, 1) / DAY, max: Date.UTC(2026, 11, 31) / DAY })
  .map((day) => new Date(day * DAY).toISOString().slice(0, 10))
const period = fc.tuple(date, date).map(([one, other]) => (one < other ? [one, other] : [other, one]))
const units = fc.integer({ min: 0, max: 20_000 })
const format = (value: number) => (value / 10_000).toFixed(4)

test('the factor divided by the months of the period, rounded down, is accepted, and a month that differs is found', () => {
  const change = fc.integer({ min: -50, max: 50 })
  fc.assert(
    fc.property(period, units, fc.nat(11), change, ([start = '', end = ''], factor, changed, by) => {
      const { inYear, count } = listMonths(start, end)
      const share = Math.floor(factor / count)
      const months = Array.from({ length: 12 }, (_, index) => {
        const right = inYear.has(index + 1) ? share : 0
        return format(index === changed ? right + by : right)
      })
      const record = makeRecord(format(factor), start, end, months)
      const found = { month: String(changed + 1), value: months[changed], share: format(share) }
      const fault = by === 0 ? undefined : found
      const inside = inYear.has(changed + 1)
      expect(find(within, record)).toEqual(inside ? fault : undefined)
      expect(find(outside, record)).toEqual(inside ? undefined : fault)
    }),
    cases(150),
  )
})

test('a number may be written in another way, and what is empty or ends before it starts is not compared', () => {
  const months = ['0', '0.05', '', '0.0500', '0.0', '-0', '0', '0', '0', '0', '0', '0']
  const wrong = months.map(() => '0.0500')
  for (const [start, end, values] of [
    ['2025-02-17', '2025-04-02', months],
    ['', '2025-04-02', wrong],
    ['2025-02-17', '', wrong],
    ['2025-04-02', '2025-03-01', wrong],
  ] as const) {
    const record = makeRecord('0.15', start, end, values)
    expect([find(within, record), find(outside, record)]).toEqual([undefined, undefined])
  }
})

test('a definition of any field can use it; without a return it is listed as not run', async () => {
  const parts = Array.from({ length: 12 }, (_, index) => `month${index + 1}`)
  const date = { type: 'date', format: '%d.%m.%Y' }
  const fields = [
    { name: 'budget', type: 'number' },
    ...['from', 'to'].map((name) => ({ name, ...date })),
    ...parts.map((name) => ({ name, type: 'number' })),
  ]
  const spread = {
    kind: 'spread',
    code: 'PRO-101',
    total: 'budget',
    parts,
    from: 'from',
    to: 'to',
    decimals: 0,
  }
  const message = 'Month {month} has {value} instead of {share}.'
  const projects = { fields, 'mahi:recordChecks': [{ ...spread, message }] }
  const definition = define({ projects }, { 'mahi:return': {} })
  const header = fields.map(({ name }) => name).join()
  const files = { 'projects.csv': `${header}\n100,03.03.2025,02.05.2025,0,0,33,33,34,0,0,0,0,0,0,0\n` }
  const { findings } = await check(files, { definition, returnId: '2025' })
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual(['Month 5 has 34 instead of 33.'])
  const { summary } = await check(files, { definition })
  expect(summary.notRun).toEqual([{ code: 'PRO-101', reason: 'The return has no year.' }])
})
