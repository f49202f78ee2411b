import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describePreview } from '../src/catalogue/history/describe.ts'
import { parseExactJson } from '../src/foundation/text/exact-json.ts'
import { formatBytes, formatNumber } from '../src/foundation/text/format-number.ts'
import { cases } from './support/properties.ts'

test('numbers are written as in New Zealand English', () => {
  const format = new Intl.NumberFormat('en-NZ')
  const number = fc.oneof(
    fc.integer({ min: -2_000_000, max: 2_000_000 }),
    fc.maxSafeInteger().filter((each) => !Object.is(each, -0)),
    fc.double({ noDefaultInfinity: true, noNaN: true }).filter((each) => !Object.is(each, -0)),
  )
  fc.assert(
    fc.property(number, (each) => {
      expect(formatNumber(each)).toBe(format.format(each))
    }),
    cases(300),
  )
})

test('a size has the unit in which it can be read', () => {
  const sizes = [0, 1, 44_000, 2 ** 20, 3.5 * 2 ** 30]
  expect(sizes.map(formatBytes)).toEqual(['0 KiB', '1 KiB', '43 KiB', '1.0 MiB', '3.5 GiB'])
})

test('one more record, and one more field, are counted as one', () => {
  const fields = Array.from({ length: 11 }, (_, at) => ({ field: `f${at}`, before: 'a', after: 'b' }))
  const changes = Array.from(
    { length: 20 },
    () => ({ occupationCode: 'A', change: 'updated', fields }) as const,
  )
  const preview = describePreview(changes, 21)
  expect(preview).toContain('and 1 more field\n')
  expect(preview).toContain('and 1 more record (--json')
})

test('numbers that a double cannot hold become their text, and nothing else of a JSON text changes', () => {
  const long = '9007199254740993'
  const read = (text: string) => {
    try {
      return parseExactJson(text)
    } catch (error) {
      return (error as Error).name
    }
  }
  expect(read(`[${long}, -${long}.5, 1e400, 1e-400, 9007199254740992]`)).toEqual([
    long,
    `-${long}.5`,
    '1e400',
    '1e-400',
    '9007199254740992',
  ])
  expect(read('[900719925474.0993, 0e400, 1.5, 0.000000000000000000001, -1e10]')).toEqual([
    '900719925474.0993',
    0,
    1.5,
    1e-21,
    -1e10,
  ])
  for (const value of [long, `\\"${long}`, `"${long}\\`]) {
    const text = JSON.stringify({ [value]: [value, { [long]: 1 }] })
    expect(read(text)).toEqual(JSON.parse(text))
  }
  for (const text of [
    `{${long}:1}`,
    `{${long} : 1}`,
    `0${long}`,
    `${long}.`,
    `"${long}`,
    `--${long}`,
    `[${long}x]`,
  ])
    expect(read(text)).toBe('SyntaxError')
})
