import { isUtf8 } from 'node:buffer'
import { quote } from './quote.ts'

/** The characters of Windows-1252 for the bytes 0x80 to 0x9F, with a space where it has none. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const BYTES = new Map(
  [...WINDOWS_1252].flatMap((character, index) => (character === ' ' ? [] : [[character, 0x80 + index]])),
)

const C1 = /[\u0080-\u009f]/

/** Several programs may each have decoded the text wrongly. */
const MOST_DECODINGS = 3

/** Only text with these characters can be UTF-8 that was decoded as Windows-1252 or Latin-1. */
const FIRST_BYTES = /[\u00c2-\u00f4]/

/** Text that was decoded with the wrong character set, or lost characters to one. */
export interface Decoding {
  /** The text as it was meant, as far as this is certain. */
  readonly text: string
  /** Why the text is refused: a clause with the field as its subject. */
  readonly fault?: string
  /** Why the text is refused if others of the same input were decoded wrongly; it may be correct. */
  readonly doubt?: string
}

/**
 * Repairs UTF-8 that was decoded as Windows-1252 or Latin-1, such as `Ä“` for `ē`. It is certain where a C1 control
 * character occurs, which is never intended, and where all of the text decodes back. Text of which only a part does is
 * refused, because the rest may then be lost. A pair that correct text can have, such as the end of `«CAFÉ»`, is only
 * a doubt.
 */
export function repairMojibake(given: string): Decoding {
  let text = given
  for (let round = 0; round < MOST_DECODINGS && FIRST_BYTES.test(text); round++) {
    const { decoded, likely, unlikely, isWhole } = decodeBack(text)
    if (decoded === text) break
    if (!C1.test(text)) {
      const found = likely ?? unlikely
      const meant = found === undefined ? '' : `has ${quote(found[0])}, which was probably ${quote(found[1])}`
      if (likely === undefined) return { text, doubt: `${meant}. ${ADVICE}` }
      if (!isWhole) return { text, fault: `${meant}, beside text that is correct. ${ADVICE}` }
    }
    text = decoded
  }
  return { text }
}

const ADVICE = 'Export the data again as UTF-8'

/** A replacement character, or a question mark within a word or before one: `k?hungahunga`. */
const LOST = /\S*(?:\ufffd|\p{L}\?\p{L}|(?<=^|\s)\?\p{L})\S*/u

/** Why a text has probably lost characters to another character set; `undefined` if it has not. */
export function findLostCharacters(text: string): string | undefined {
  if (!text.includes('\ufffd') && !text.includes('?')) return undefined
  const word = LOST.exec(text)?.[0]
  // The query of a URL follows a question mark.
  if (word === undefined || (!word.includes('\ufffd') && /[/=&@]|www\./.test(word))) return undefined
  const what = word.includes('\ufffd') ? 'U+FFFD' : 'a question mark'
  return `has ${what} in ${quote(word, 40)}, where a letter was probably lost: enter it again, or export the data again as UTF-8`
}

type Pair = readonly [found: string, meant: string]

interface DecodedBack {
  readonly decoded: string
  /** The first sequence that correct text hardly has, and the first other one. */
  readonly likely: Pair | undefined
  readonly unlikely: Pair | undefined
  /** Whether every character beyond ASCII belongs to a sequence. */
  readonly isWhole: boolean
}

/** Replaces each run of characters whose bytes form one UTF-8 sequence by the character that it encodes. */
function decodeBack(text: string): DecodedBack {
  const characters = [...text]
  let decoded = ''
  let likely: Pair | undefined
  let unlikely: Pair | undefined
  let isWhole = true
  for (let index = 0; index < characters.length; ) {
    const first = byteOf(characters[index])
    const length = sequenceLength(first)
    const run = characters.slice(index, index + length)
    const sequence = Buffer.from(run.map((each) => byteOf(each) ?? 0))
    if (length > 1 && run.length === length && isUtf8(sequence)) {
      const pair = [run.join(''), sequence.toString('utf8')] as const
      if (isLikely(sequence)) likely ??= pair
      else unlikely ??= pair
      decoded += pair[1]
      index += length
    } else {
      if ((first ?? 0x80) >= 0x80) isWhole = false
      decoded += characters[index++]
    }
  }
  return { decoded, likely, unlikely, isWhole }
}

/**
 * Whether a sequence encodes a letter of te reo Māori or of another Latin alphabet, a combining mark, punctuation or a
 * symbol. Other sequences of two bytes occur at the end of words in capitals, before a quotation mark (`É»`), or a space
 * that does not break the line.
 */
function isLikely([first = 0, second]: Uint8Array): boolean {
  if (first <= 0xc5) return second !== NO_BREAK_SPACE
  return first === 0xcc || first === 0xcd || first >= 0xe0
}

const NO_BREAK_SPACE = 0xa0

function byteOf(character: string | undefined): number | undefined {
  const code = character?.codePointAt(0)
  if (character === undefined || code === undefined) return undefined
  return code <= 0xff ? code : BYTES.get(character)
}

/** The length of a UTF-8 sequence by its first byte; 1 for a byte that starts no longer sequence. */
function sequenceLength(byte = 0): number {
  if (byte >= 0xf0 && byte <= 0xf4) return 4
  if (byte >= 0xe0) return byte < 0xf0 ? 3 : 1
  return byte >= 0xc2 ? 2 : 1
}

/** The likely reason for a C1 control character in a text. */
export function explainC1(character: string): string {
  const meant = WINDOWS_1252[character.charCodeAt(0) - 0x80]
  const likely =
    meant === undefined || meant === ' '
      ? 'text in another character set was probably decoded as Latin-1'
      : `Windows-1252 text, where this byte is ${meant}, was probably decoded as Latin-1`
  return `${likely}: export the data again as UTF-8`
}
