import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { Interner, NumberLinks, TupleTable } from '../src/engines/checking/engine/interner.ts'
import { SeenTexts } from '../src/engines/checking/engine/seen-texts.ts'
import { hashPair, hashText } from '../src/foundation/text/seeded-hash.ts'
import { collide, fnv } from './support/colliding.ts'
import { cases } from './support/properties.ts'

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
    cases(100),
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
    cases(20),
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
    cases(100),
  )
})

test('texts and pairs that collide in a known hash do not collide in ours, which differs by process', async () => {
  const texts = collide(12)
  expect(new Set(texts).size).toBe(4096)
  expect(new Set(texts.map((text) => fnv(text))).size).toBe(1)
  expect(new Set(texts.map(hashText)).size).toBeGreaterThan(4090)
  // What one position adds must not depend on its distance to another.
  const swapped = Array.from({ length: 4096 }, (_, number) => {
    const [one, other] = ['a'.repeat(32), 'b'.repeat(32)]
    return Array.from({ length: 12 }, (_, bit) => ((number >> bit) & 1 ? one + other : other + one)).join('')
  })
  expect(new Set(swapped.map(hashText)).size).toBeGreaterThan(4090)

  const pairs = Array.from({ length: 4096 }, (_, number) => [number, Math.imul(number, 0x9e3779b1)] as const)
  expect(new Set(pairs.map(([first, second]) => hashPair(first, second))).size).toBeGreaterThan(4090)

  const own = [...texts.slice(0, 3).map(hashText), hashPair(1, 2)]
  vi.resetModules()
  const again = await import('../src/foundation/text/seeded-hash.ts')
  const others = [...texts.slice(0, 3).map(again.hashText), again.hashPair(1, 2)]
  for (const [index, hash] of own.entries()) expect(others[index]).not.toBe(hash)
})

test('an interner numbers texts of any script in the order in which they come', () => {
  const texts = fc.array(fc.string({ unit: 'binary', maxLength: 80 }), { maxLength: 300 })
  fc.assert(
    fc.property(texts, (given) => {
      const [interner, known] = [new Interner(), new Map<string, number>()]
      for (const each of given) {
        if (!known.has(each)) known.set(each, known.size)
        expect(interner.intern(each)).toBe(known.get(each))
      }
    }),
    cases(100),
  )
})
