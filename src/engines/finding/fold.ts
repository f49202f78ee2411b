import { singular } from './stem.ts'

/** A folded word of a text, and its position (UTF-16 code units, end exclusive). */
export interface Word {
  readonly word: string
  readonly from: number
  readonly to: number
}

/** Letters with a point after each, such as `R.N.`, are one word; the last point is not part of it. */
const DOTTED = /(?<![\p{L}\p{N}\p{M}])\p{L}(?:\.\p{L})+(?![\p{L}\p{N}\p{M}])/u
const WORD = new RegExp(`${DOTTED.source}|[\\p{L}\\p{N}\\p{M}\\p{Cf}+#'’ʻʼ‘]+`, 'gu')
const DROPPED = /[\p{M}\p{Cf}.'’ʻʼ‘]+/gu
const ASCII = /^[A-Za-z0-9+#']+$/

/**
 * Folds one word: NFKD without combining marks, format characters and apostrophes, in lower case. `Kōhungahunga`,
 * `kohungahunga` and `Köhungahunga` are equal, however their macrons are encoded, and so are full-width letters,
 * ligatures such as `ﬃ`, and words with soft hyphens.
 */
function foldWord(word: string): string {
  if (ASCII.test(word)) return word.replaceAll("'", '').toLowerCase()
  return word.normalize('NFKD').replace(DROPPED, '').toLowerCase().normalize('NFC')
}

/**
 * Splits a text into folded words with positions. At most `limit` words are read, because a query may have any
 * length.
 */
export function splitWords(text: string, limit = Number.POSITIVE_INFINITY): Word[] {
  const words: Word[] = []
  for (const match of text.matchAll(WORD)) {
    if (words.length >= limit) break
    const word = foldWord(match[0])
    if (word !== '') words.push({ word, from: match.index, to: match.index + match[0].length })
  }
  return words
}

/** The folded words of a text, separated by single spaces. */
export function fold(text: string): string {
  return splitWords(text)
    .map(({ word }) => word)
    .join(' ')
}

/**
 * A key that is equal for spelling variants of a name: without spaces, and with doubled vowels, which replace macrons
 * (`Maaori`), as single ones, and in the singular. `kai ako` and `Kaiako` have the same key, and so have `Cook` and
 * `Cooks`.
 */
export function looseKey(folded: string): string {
  return undouble(singular(folded.replaceAll(' ', '')))
}

/** A folded word with its doubled vowels as single ones. */
export function undouble(word: string): string {
  return word.replace(/([aeiou])\1+/g, '$1')
}
