/** A word of a text: its folded form, and where it is in the text (UTF-16 units, end exclusive). */
export interface Word {
  readonly word: string
  readonly from: number
  readonly to: number
}

const WORD = /[\p{L}\p{N}\p{M}+#'’ʻʼ‘]+/gu
const DROPPED = /[\p{M}'’ʻʼ‘]+/gu
const ASCII = /^[a-z0-9]+$/

/**
 * Folds one word: NFD without combining marks and apostrophes, in lower case. `Kōhungahunga`, `kohungahunga` and
 * `Köhungahunga` are equal, however their macrons are encoded.
 */
export function foldWord(word: string): string {
  if (ASCII.test(word)) return word
  return word.normalize('NFD').replace(DROPPED, '').toLowerCase().normalize('NFC')
}

/** The words of a text, folded, with their places. At most `limit` are read, for a query may be of any length. */
export function splitWords(text: string, limit = Number.POSITIVE_INFINITY): Word[] {
  const words: Word[] = []
  for (const match of text.matchAll(WORD)) {
    if (words.length >= limit) break
    const word = foldWord(match[0])
    if (word !== '') words.push({ word, from: match.index, to: match.index + match[0].length })
  }
  return words
}

/** A text as its folded words, separated by single spaces. */
export function fold(text: string): string {
  return splitWords(text)
    .map(({ word }) => word)
    .join(' ')
}

/**
 * A key under which spellings of one name are equal: without spaces, and with doubled vowels, which write long vowels
 * where there are no macrons (`Maaori`), as single ones. `kai ako` and `Kaiako` have the same key.
 */
export function looseKey(folded: string): string {
  return undouble(folded.replaceAll(' ', ''))
}

/** A folded word with its doubled vowels as single ones. */
export function undouble(word: string): string {
  return word.replace(/([aeiou])\1+/g, '$1')
}
