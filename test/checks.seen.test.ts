import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FirstRecords, Interner, PairTable } from '../src/foundation/text/interner.ts'
import { hashPair, hashText } from '../src/foundation/text/seeded-hash.ts'
import { cases } from './support/properties.ts'

/** Texts that are easily mistaken for each other: leading zeros, other prefixes, long numbers, other scripts. */
const text = fc
  .tuple(
    fc.constantFrom('', 'E', 'E0', 'E00', 'Ē', '-', 'E1', 'ab'),
    fc.constantFrom('', '0', '00', '0000000', '1', '10', '9999999', '00000000001', '1x'),
    fc.integer({ min: 0, max: 20 }).map(String),
  )
  .map((parts) => parts.join(''))

test('a text has one number', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(text, fc.string({ unit: 'binary' })), { maxLength: 200 }), (texts) => {
      const [interner, known] = [new Interner(), new Map<string, number>()]
      for (const each of texts) {
        if (!known.has(each)) known.set(each, known.size)
        expect(interner.intern(each)).toBe(known.get(each))
      }
    }),
    cases(50),
  )
  const interner = new Interner()
  const texts = Array.from({ length: 20_000 }, (_, number) => `é${number}${'-'.repeat(number % 40)}`)
  for (const _ of [1, 2]) expect(texts.findIndex((each, number) => interner.intern(each) !== number)).toBe(-1)
})

test.each([
  [2, 100],
  [3, 20],
  [5, 5],
])('a list of %i numbers has one number', (width, max) => {
  const list = fc.array(fc.integer({ min: 0, max }), { minLength: width, maxLength: width })
  fc.assert(
    fc.property(fc.array(list, { maxLength: 8000, size: 'max' }), (lists) => {
      const [table, known] = [new PairTable(), new Map<string, number>()]
      const numberOf = ([first = 0, ...others]: readonly number[]) =>
        others.reduce((start, last) => table.intern(start, last), first)
      const wrong = lists.filter((each) => {
        const number = numberOf(each)
        if (!known.has(each.join())) known.set(each.join(), number)
        return number !== known.get(each.join())
      })
      expect(wrong).toEqual([])
      expect(new Set(known.values()).size).toBe(known.size)
    }),
    cases(3),
  )
})

test('the first record of each key is known, however large its number is', () => {
  const key = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 100_000 }))
  fc.assert(
    fc.property(fc.array(key, { maxLength: 100 }), (keys) => {
      const [firsts, known] = [new FirstRecords(), new Map<number, number>()]
      for (const [index, each] of keys.entries()) {
        expect(firsts.add(each, index + 1)).toBe(known.get(each) ?? 0)
        if (!known.has(each)) known.set(each, index + 1)
      }
    }),
    cases(50),
  )
})

test('texts that a hash without a seed confuses do not collide, and the seed differs by process', async () => {
  // What one position adds must not depend on its distance to another.
  const swapped = Array.from({ length: 4096 }, (_, number) => {
    const [one, other] = ['a'.repeat(32), 'b'.repeat(32)]
    return Array.from({ length: 12 }, (_, bit) => ((number >> bit) & 1 ? one + other : other + one)).join('')
  })
  const pairs = Array.from({ length: 4096 }, (_, number) => hashPair(number, Math.imul(number, 0x9e3779b1)))
  for (const hashes of [swapped.map(hashText), pairs]) expect(new Set(hashes).size).toBeGreaterThan(4090)

  const path = '../src/foundation/text/seeded-hash.ts?again'
  const again = (await import(/* @vite-ignore */ path)) as { hashText: typeof hashText }
  for (const texts of [['a', 'b', 'c'], swapped.slice(0, 3)])
    expect(texts.map(again.hashText)).not.toEqual(texts.map(hashText))
})
