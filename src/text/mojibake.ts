import { isUtf8 } from 'node:buffer'

/** What Windows-1252 has in the place of the C1 control characters U+0080 to U+009F; a space where it has nothing. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const BYTES = new Map(
  [...WINDOWS_1252].flatMap((character, index) => (character === ' ' ? [] : [[character, 0x80 + index]])),
)

const C1 = /[\u0080-\u009f]/

/** Text may have been decoded wrongly more than once, each time by one program more. */
const MOST_DECODINGS = 3

/**
 * Repairs UTF-8 that was decoded as Windows-1252 or Latin-1 (`â` U+0080 U+0099 for `’`). Only text with a C1 control
 * character is repaired: no catalogue means to have one, and without one the text may be as it was meant.
 *
 * @returns the text as it was, where nothing in it decodes back to UTF-8
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

/** Replaces each run of characters whose bytes are one UTF-8 sequence by the character that the sequence encodes. */
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

/** How many bytes a UTF-8 sequence has, by its first one; 1 for what begins no longer one. */
function sequenceLength(byte = 0): number {
  if (byte >= 0xf0 && byte <= 0xf4) return 4
  if (byte >= 0xe0) return byte < 0xf0 ? 3 : 1
  return byte >= 0xc2 ? 2 : 1
}

/** Why a text has a C1 control character, as far as the character shows it. */
export function explainC1(character: string): string {
  const meant = WINDOWS_1252[character.charCodeAt(0) - 0x80]
  const likely =
    meant === undefined || meant === ' '
      ? 'text in another character set was probably decoded as Latin-1'
      : `Windows-1252 text, where this byte is ${meant}, was probably decoded as Latin-1`
  return `${likely}: export the data again as UTF-8`
}
