import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Interner, NumberLinks, TupleTable } from '../src/engines/checking/engine/interner.ts'
import { Offsets } from '../src/engines/checking/engine/offsets.ts'
import { SeenTexts } from '../src/engines/checking/engine/seen-texts.ts'
import { SeenTuples } from '../src/engines/checking/engine/seen-tuples.ts'
import { hashLatin1, hashPair, hashText } from '../src/foundation/text/seeded-hash.ts'
import { places, readFaults } from './support/checking.ts'
import { collide, fnv } from './support/colliding.ts'
import { cases } from './support/properties.ts'

const FAULTY = new URL('../samples/sdr/faulty/', import.meta.url).pathname

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
      const wrong = texts.filter((each) => {
        const isNew = !known.has(each)
        known.add(each)
        return seen.add(each) !== isNew
      })
      expect(wrong).toEqual([])
    }),
    cases(100),
  )
})

test('equal lists of numbers always have the same number, and others another', () => {
  const list = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 3, maxLength: 3 })
  fc.assert(
    fc.property(fc.array(list, { maxLength: 8000, size: 'max' }), (lists) => {
      const [table, known] = [new TupleTable(3), new Map<string, number>()]
      const wrong = lists.filter((each) => {
        const expected = known.get(each.join()) ?? known.size
        known.set(each.join(), expected)
        return table.intern(Int32Array.from(each)) !== expected
      })
      expect(wrong).toEqual([])
    }),
    cases(20),
  )
})

test.each([
  [2, 200],
  [3, 30],
  [5, 8],
])('a list of %i numbers is new exactly once', (width, max) => {
  const list = fc.array(fc.integer({ min: 0, max }), { minLength: width, maxLength: width })
  fc.assert(
    fc.property(fc.array(list, { maxLength: 30_000, size: 'max' }), (lists) => {
      const [seen, known] = [new SeenTuples(), new Set<string>()]
      const wrong = lists.filter((each) => {
        const isNew = !known.has(each.join())
        known.add(each.join())
        return seen.add(Int32Array.from(each)) !== isNew
      })
      expect(wrong).toEqual([])
    }),
    cases(2),
  )
})

test('records whose keys have the same hash are no repeats of each other', async () => {
  vi.resetModules()
  vi.doMock('../src/foundation/text/seeded-hash.ts', () => ({
    hashText,
    hashLatin1,
    hashPair: () => 0,
  }))
  onTestFinished(() => {
    vi.doUnmock('../src/foundation/text/seeded-hash.ts')
    vi.resetModules()
  })
  const { checkFolder } = await import('./support/checking.ts')
  const { findings } = await checkFolder(FAULTY, 'sdr')
  expect(places(findings).sort()).toEqual(readFaults(FAULTY))
})

test('the offset of each record is the one that was stored, also beyond 4 GiB and of very long records', () => {
  const distance = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 300 }) },
    fc.constantFrom(0, 65_534, 65_535, 65_536, 2 ** 33),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10 }),
      fc.array(distance, { maxLength: 300 }),
      (first, distances) => {
        const offsets = new Offsets()
        const expected = [first]
        for (const each of distances) expected.push((expected.at(-1) ?? 0) + each)
        for (const each of expected) offsets.push(each)
        expect(expected.map((_, index) => offsets.get(index))).toEqual(expected)
      },
    ),
    cases(100),
  )
})

test('offsets of more records than one block holds', () => {
  const offsets = new Offsets()
  for (let record = 0; record < 200_000; record++) offsets.push(record * 7)
  for (const record of [0, 63, 64, 65_535, 65_536, 131_100, 199_999])
    expect(offsets.get(record)).toBe(record * 7)
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

test('a text has the hash of its bytes in Latin-1, so that an interner that grows finds it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 100 }), (codes) => {
      const bytes = Buffer.from([0, ...codes, 0])
      expect(hashLatin1(bytes, 1, codes.length + 1)).toBe(hashText(String.fromCharCode(...codes)))
    }),
    cases(100),
  )
  const interner = new Interner()
  const texts = Array.from({ length: 50_000 }, (_, number) => `é${number}${'-'.repeat(number % 40)}`)
  for (const round of [1, 2])
    for (const [number, each] of texts.entries())
      if (interner.intern(each) !== number)
        throw new Error(`round ${round}: text ${number} has another number`)
  expect(interner.size).toBe(texts.length)
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
