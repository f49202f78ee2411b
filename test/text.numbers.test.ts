import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatNumber } from '../src/foundation/text/format-number.ts'
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
