import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinTexts, toBuffer } from '../src/foundation/database/utf8.ts'
import { cases } from './support/properties.ts'

test('texts are joined by commas, as UTF-8', () => {
  expect(joinTexts(['{"a":"ā"}', '', '{"b":"😀"}'])).toEqual(Buffer.from('{"a":"ā"},,{"b":"😀"}'))
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1 }), (texts) => {
      expect(joinTexts(texts).toString()).toBe(texts.join(','))
    }),
    cases(100),
  )
})

test('texts of any length are joined whole', () => {
  for (const length of [2 ** 20 - 2, 2 ** 20 - 1, 2 ** 20, 2 ** 21]) {
    const text = 'ā'.repeat(length)
    expect(joinTexts([text, 'b']).equals(Buffer.from(`${text},b`)), String(length)).toBe(true)
  }
})

test('what has been joined stays as it is when others are', () => {
  const first = joinTexts(['a'.repeat(1000), 'b'])
  joinTexts(['c'.repeat(1000), 'd'])
  expect(first.toString()).toBe(`${'a'.repeat(1000)},b`)
  expect(toBuffer('ē').toString()).toBe('ē')
})
