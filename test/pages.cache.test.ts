import { describe, expect, test } from 'vitest'
import { surround } from '../src/api/serving/page.ts'
import { PageCache } from '../src/api/serving/page-cache.ts'
import { remember } from '../src/foundation/cache/remember.ts'

const value = { weight: 1000 }

/** Asks for a value as a reader of pages does: one that is not kept is made and offered. */
function ask(cache: PageCache<{ weight: number }>, key: string): boolean {
  if (cache.get(key) !== undefined) return true
  cache.set(key, value)
  return false
}

test('a walk through more pages than fit evicts none of those that others ask for', () => {
  const cache = new PageCache<{ weight: number }>(100 * 1100)
  const popular = Array.from({ length: 50 }, (_, index) => `popular ${index}`)
  for (let round = 0; round < 4; round++) for (const key of popular) ask(cache, key)

  let hits = 0
  let asked = 0
  for (let walk = 0; walk < 3; walk++) {
    for (let page = 0; page < 5000; page++) {
      ask(cache, `walk ${page}`)
      if (page % 10 !== 0) continue
      asked++
      if (ask(cache, popular[(page / 10) % 50] ?? '')) hits++
    }
  }
  expect(hits / asked).toBeGreaterThan(0.95)
})

test('what has become popular replaces what no longer is', () => {
  const cache = new PageCache<{ weight: number }>(10 * 1100)
  for (let round = 0; round < 20; round++) for (let page = 0; page < 9; page++) ask(cache, `old ${page}`)
  for (let round = 0; round < 3; round++) for (let page = 0; page < 9; page++) ask(cache, `new ${page}`)
  for (let page = 0; page < 9; page++) expect(ask(cache, `new ${page}`)).toBe(true)
})

test('what is requested again after more pages than fit is not popular', () => {
  const cache = new PageCache<{ weight: number }>(10 * 1100)
  for (let round = 0; round < 2; round++) for (let page = 0; page < 9; page++) ask(cache, `old ${page}`)
  for (let walk = 0; walk < 3; walk++) for (let page = 0; page < 500; page++) ask(cache, `walk ${page}`)
  for (let page = 0; page < 9; page++) expect(ask(cache, `old ${page}`)).toBe(true)
})

test('a page is cached when it is requested for the second time, and not for the second time long after', () => {
  const cache = new PageCache<{ weight: number }>(100 * 1100)
  expect([ask(cache, 'a'), ask(cache, 'b'), ask(cache, 'a'), ask(cache, 'a')]).toEqual([
    false,
    false,
    false,
    true,
  ])
  for (let page = 0; page < 50_000; page++) ask(cache, `walk ${page % 5_000}`)
  expect(cache.weight).toBe(1000 + 2)
  expect([ask(cache, 'b'), ask(cache, 'a')]).toEqual([false, true])
})

test('a cache without capacity keeps nothing', () => {
  const cache = new PageCache<{ weight: number }>(0)
  expect([ask(cache, 'a'), ask(cache, 'a'), cache.weight]).toEqual([false, false, 0])
})

describe('what callers choose is remembered up to a number of characters', () => {
  /** How many of 2,000 texts are not read again. */
  function countKept(length: number, isKept?: () => boolean): number {
    let reads = 0
    const read = remember(() => ++reads, isKept)
    const texts = Array.from({ length: 2_000 }, (_, index) => String(index).padEnd(length, '.'))
    for (const text of texts) read(text)
    reads = 0
    // The latest first, so that reading an earlier one again evicts no later one before it is counted.
    for (const text of texts.toReversed()) read(text)
    return texts.length - reads
  }

  test('of short texts more than of long ones, and nothing of those that are longer still', () => {
    expect(countKept(10)).toBeGreaterThan(300)
    expect(countKept(300)).toBeGreaterThan(20)
    expect(countKept(300) * 300).toBeLessThan(150_000)
    expect(countKept(301)).toBe(0)
  })

  test('and no result that is much larger than its text', () => {
    expect(countKept(10, () => false)).toBe(0)
  })
})

test('documents give their memory back once they are in a page, unless they share it', () => {
  const own = Buffer.alloc(100_000, 'a')
  const shared = Buffer.alloc(100_000, 'a').subarray(1)
  for (const documents of [own, shared]) {
    const expected = `[${documents}]`
    expect(surround('[', documents, ']').toString()).toBe(expected)
  }
  expect([own.buffer.byteLength, shared.length]).toEqual([0, 99_999])
})
