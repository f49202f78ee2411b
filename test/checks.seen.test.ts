import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NumberLinks, TupleTable } from '../src/checks/engine/interner.ts'
import { SeenTexts } from '../src/checks/engine/seen-texts.ts'

/** Texts that are easily mistaken for each other: leading zeros, other prefixes, long numbers, other scripts. */
const text = fc
  .tuple(
    fc.constantFrom('', 'E', 'E0', 'E00', 'Ē', '-', 'E1', 'ab'),
    fc.constantFrom('', '0', '00', '0000000', '1', '10', '9999999', '00000000001', '1x'),
    fc.integer({ min: 0, max: 20 }).map(String),
  )
  .map((parts) => parts.join(''))

test('a text is new exactly once, also beyond the families that have bits', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 200 }), (texts) => {
      const [seen, known] = [new SeenTexts(), new Set<string>()]
      for (const each of texts) {
        expect(seen.add(each)).toBe(!known.has(each))
        known.add(each)
      }
    }),
  )
})

test('equal lists of numbers always have the same number, and others another', () => {
  const list = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 3, maxLength: 3 })
  fc.assert(
    fc.property(fc.array(list, { maxLength: 8000, size: 'max' }), (lists) => {
      const [table, known] = [new TupleTable(3), new Map<string, number>()]
      for (const each of lists) {
        const expected = known.get(each.join()) ?? known.size
        expect(table.intern(Int32Array.from(each))).toBe(expected)
        known.set(each.join(), expected)
      }
    }),
    { numRuns: 20 },
  )
})

test('a number is linked with exactly the others that were added', () => {
  const pair = fc.tuple(fc.integer({ min: 0, max: 9000 }), fc.integer({ min: -1, max: 3 }))
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 50 }), pair, (pairs, [number, other]) => {
      const links = new NumberLinks()
      for (const [one, value] of pairs) links.add(one, value)
      for (const [one, value] of pairs) expect(links.has(one, value)).toBe(true)
      expect(links.has(number, other)).toBe(pairs.some(([one, value]) => one === number && value === other))
    }),
  )
})
