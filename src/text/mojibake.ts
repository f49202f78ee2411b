import { isUtf8 } from 'node:buffer'

/** The characters of Windows-1252 for the bytes 0x80 to 0x9F, with a space where it has none. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const BYTES = new Map(
  [...WINDOWS_1252].flatMap((character, index) => (character === ' ' ? [] : [[character, 0x80 + index]])),
)

const C1 = /[\u0080-\u009f]/

/** Several programs may each have decoded the text wrongly. */
const MOST_DECODINGS = 3

/**
 * Repairs UTF-8 that was decoded as Windows-1252 or Latin-1 (`â` U+0080 U+0099 for `’`). Only text with a C1 control
 * character is repaired: these are never intended, and text without them may be correct.
 *
 * @returns the unchanged text if no part of it decodes back to UTF-8
 */
export function repairMojibake(text: string): string {
  let repaired = text
  for (let round = 0; round < MOST_DECODINGS && C1.test(repaired); round++) {
    const next = decodeBack(repaired)
    if (next === repaired) break
    repaired = next
  }
  return repaired
}

/** Replaces each run of characters whose bytes form one UTF-8 sequence by the character that it encodes. */
function decodeBack(text: string): string {
  const characters = [...text]
  let result = ''
  for (let index = 0; index < characters.length; ) {
    const length = sequenceLength(byteOf(characters[index]))
    const bytes = characters.slice(index, index + length).map((each) => byteOf(each) ?? 0)
    const sequence = Buffer.from(bytes)
    if (length > 1 && bytes.length === length && isUtf8(sequence)) {
      result += sequence.toString('utf8')
      index += length
    } else result += characters[index++]
  }
  return result
}

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
