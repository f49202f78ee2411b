import { isUtf8 } from 'node:buffer'
import { quote } from './quote.ts'

/** The characters of Windows-1252 for the bytes 0x80 to 0x9F, with a space where it has none. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const WINDOWS_1252_BYTES = mapBytes(WINDOWS_1252)

/**
 * Other character sets in which programs read UTF-8, with their characters for the bytes from 0x80 to 0xF4: UTF-8 has no
 * others.
 */
const OTHERS = Object.entries({
  'Mac Roman': new TextDecoder('macintosh').decode(Uint8Array.from({ length: 0x75 }, (_, at) => 0x80 + at)),
  CP850:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶',
  CP437:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠',
}).map(([name, characters]) => {
  const bytes = mapBytes(characters)
  const starts = [0xc4, 0xc5, 0xcc, 0xe2].map((byte) => [...characters][byte - 0x80])
  return {
    name,
    starts,
    byteOf: (character: string) => (character < '\x80' ? character.charCodeAt(0) : bytes.get(character)),
  }
})

/** The byte of each character; a space is none. */
function mapBytes(characters: string): ReadonlyMap<string, number> {
  return new Map(
    [...characters].flatMap((character, index) => (character === ' ' ? [] : [[character, 0x80 + index]])),
  )
}

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

/** Repairs a text that was decoded wrongly; the fault or doubt that is left, also about characters that it has lost. */
export function repairText(given: string): Decoding {
  const decoding = repairMojibake(given)
  const fault = decoding.fault ?? findLostCharacters(decoding.text)
  return fault === undefined ? decoding : { ...decoding, fault }
}

/**
 * Repairs UTF-8 that was decoded as Windows-1252 or Latin-1, such as `Ä“` for `ē`, and refuses UTF-8 that was decoded as
 * another character set, such as `ƒì` for `ē`.
 */
export function repairMojibake(given: string): Decoding {
  const decoding = repairWindows1252(given)
  const fault = decoding.text === given ? findOtherCharset(given, decoding.fault !== undefined) : undefined
  return fault === undefined ? decoding : { text: given, fault }
}

/**
 * Repairs UTF-8 that was decoded as Windows-1252 or Latin-1. It is certain where a C1 control character occurs, which is
 * never intended, and where all of the text decodes back. Text of which only a part does is refused, because the rest
 * may then be lost. A pair that correct text can have, such as the end of `«CAFÉ»`, is only a doubt.
 */
function repairWindows1252(given: string): Decoding {
  let text = given
  for (let round = 0; round < MOST_DECODINGS && FIRST_BYTES.test(text); round++) {
    const { decoded, likely, unlikely, left } = decodeBack(text, byteOfWindows1252, isLikely)
    if (decoded === text) break
    if (!C1.test(text)) {
      const found = likely ?? unlikely
      const meant = found === undefined ? '' : `has ${quote(found[0])}, which was probably ${quote(found[1])}`
      if (likely === undefined) return { text, doubt: `${meant}. ${ADVICE}` }
      if (left > 0) return { text, fault: `${meant}, beside text that is correct. ${ADVICE}` }
    }
    text = decoded
  }
  return { text }
}

const ADVICE = 'Export the data again as UTF-8'

/** Why a text was probably decoded as another character set; the one that leaves the fewest characters unexplained. */
function findOtherCharset(text: string, isWindows1252: boolean): string | undefined {
  if (!OTHER_STARTS.test(text)) return undefined
  const found = OTHERS.flatMap(({ name, byteOf }) => {
    const { likely, left } = decodeBack(text, byteOf, isCertain)
    return likely === undefined ? [] : [{ name, likely, left }]
  })
  const least = Math.min(...found.map(({ left }) => left))
  const best = found.filter(({ left }) => left === least)
  const [first] = best
  if (first === undefined) return undefined
  if (isWindows1252 && decodeBack(text, byteOfWindows1252, isLikely).left <= least) return undefined
  const [damaged, meant] = first.likely
  const names = best.map(({ name }) => name).join(' or ')
  return `has ${quote(damaged)}, which was probably ${quote(meant)}: UTF-8 was decoded as ${names}. ${ADVICE}`
}

/** A letter with a macron, a combining macron, or punctuation. Correct text hardly has characters that encode these. */
const CERTAIN = /^(?:[ĀāĒēĪīŌōŪū\u2010-\u2026]|\u0304)$/u

function isCertain(sequence: Uint8Array): boolean {
  return CERTAIN.test(Buffer.from(sequence).toString('utf8'))
}

/** The characters of other character sets that begin a certain sequence: the bytes C4, C5, CC and E2. */
const OTHER_STARTS = new RegExp(`[${OTHERS.flatMap(({ starts }) => starts).join('')}]`, 'u')

/** A replacement character, or a question mark within a word or before one: `k?hungahunga`. */
const LOST = /\ufffd|\p{L}\?\p{L}|(?<=^|\s)\?\p{L}/u

/** The first word with a lost character. */
function findLost(text: string): string | undefined {
  const found = LOST.exec(text)
  if (found === null) return undefined
  let start = found.index
  while (start > 0 && /\S/.test(text.charAt(start - 1))) start--
  return /^\S+/.exec(text.slice(start))?.[0]
}

/** Why a text has probably lost characters to another character set; `undefined` if it has not. */
export function findLostCharacters(text: string): string | undefined {
  const cut = findDroppedByte(text)
  if (cut !== undefined)
    return `has ${quote(cut, 40)}, where UTF-8 was probably decoded as Windows-1252 and lost a byte: enter it again, or export the data again as UTF-8`
  if (!text.includes('\ufffd') && !text.includes('?')) return undefined
  const word = findLost(text)
  // The query of a URL follows a question mark.
  if (word === undefined || (!word.includes('\ufffd') && /[/=&@]|www\./.test(word))) return undefined
  const what = word.includes('\ufffd') ? 'U+FFFD' : 'a question mark'
  return `has ${what} in ${quote(word, 40)}, where a letter was probably lost: enter it again, or export the data again as UTF-8`
}

/** The first byte of `ā` or `ō` in Windows-1252, as a capital after the start of a word that has small letters. */
const CUT_VOWEL = /\p{L}[ÄÅ](?=\p{Ll})|\p{Ll}{2}[ÄÅ](?!\p{L})/u

/** A word of te reo Māori: every syllable ends in a vowel. */
const MAORI_WORD = /^(?:(?:wh|ng|[hkmnprtw])?[aeiouāēīōū])+$/

/**
 * Finds a word whose character lost its last byte, for which Windows-1252 has no character: `kÅhungahunga` for
 * `kōhungahunga`, or the first two characters of `”`. A word that begins with such a letter can be correct: `Ärzte`.
 */
function findDroppedByte(text: string): string | undefined {
  if (text.includes('â€')) return 'â€'
  if (!CUT_VOWEL.test(text)) return undefined
  return text
    .match(/\p{L}+/gu)
    ?.find((word) => CUT_VOWEL.test(word) && MAORI_WORD.test(word.replaceAll(/[ÄÅ]/g, 'a').toLowerCase()))
}

type Pair = readonly [found: string, meant: string]

interface DecodedBack {
  readonly decoded: string
  /** The first sequence that correct text hardly has, and the first other one. */
  readonly likely: Pair | undefined
  readonly unlikely: Pair | undefined
  /** The number of characters beyond ASCII that belong to no sequence. */
  readonly left: number
}

/**
 * Replaces each run of characters whose bytes form one UTF-8 sequence by the character that it encodes.
 *
 * @param byteOf the byte of a character in the character set
 * @param isLikely whether correct text hardly has the characters of a sequence
 */
function decodeBack(
  text: string,
  byteOf: (character: string) => number | undefined,
  isLikely: (sequence: Uint8Array) => boolean,
): DecodedBack {
  const characters = [...text]
  let decoded = ''
  let likely: Pair | undefined
  let unlikely: Pair | undefined
  let left = 0
  for (let index = 0; index < characters.length; ) {
    const first = byteOf(characters[index] ?? '')
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
      if ((first ?? 0x80) >= 0x80) left++
      decoded += characters[index++]
    }
  }
  return { decoded, likely, unlikely, left }
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

/** The byte of a character in Windows-1252; where that has none, as in Latin-1. */
export function byteOfWindows1252(character: string): number | undefined {
  const code = character.codePointAt(0) ?? Number.POSITIVE_INFINITY
  return code <= 0xff ? code : WINDOWS_1252_BYTES.get(character)
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
