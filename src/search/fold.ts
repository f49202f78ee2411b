/** A word of a text: its folded form, and where it is in the text (UTF-16 units, end exclusive). */
export interface Word {
  readonly word: string
  readonly from: number
  readonly to: number
}

const WORD = /[\p{L}\p{N}\p{M}+#'’ʻʼ‘]+/gu
const DROPPED = /[\p{M}'’ʻʼ‘]+/gu
const ASCII = /^[A-Za-z0-9+#']+$/

/**
 * Folds one word: NFD without combining marks and apostrophes, in lower case. `Kōhungahunga`, `kohungahunga` and
 * `Köhungahunga` are equal, however their macrons are encoded.
 */
export function foldWord(word: string): string {
  if (ASCII.test(word)) return word.replaceAll("'", '').toLowerCase()
  return word.normalize('NFD').replace(DROPPED, '').toLowerCase().normalize('NFC')
}

/** The words of a text in ASCII, which most of a catalogue is, without the cost of a pattern. */
function splitAscii(text: string, limit: number): Word[] {
  const words: Word[] = []
  for (let at = 0, from = -1; at <= text.length && words.length < limit; at++) {
    if (at < text.length && isWordUnit(text.charCodeAt(at))) {
      if (from < 0) from = at
    } else if (from >= 0) {
      const word = foldWord(text.slice(from, at))
      if (word !== '') words.push({ word, from, to: at })
      from = -1
    }
  }
  return words
}

/** Letters, digits, `+`, `#` and the apostrophe. */
function isWordUnit(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 39 ||
    unit === 43 ||
    unit === 35
  )
}

/** The words of a text, folded, with their places. At most `limit` are read, for a query may be of any length. */
export function splitWords(text: string, limit = Number.POSITIVE_INFINITY): Word[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are ASCII too.
  if (/^[\u0000-\u007f]*$/.test(text)) return splitAscii(text, limit)
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
