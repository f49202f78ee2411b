/** A text from `Dialect.utf8`: bytes, or a string if the driver decodes everything. */
export type Utf8 = Buffer | string

/** Returns the bytes of a text from `Dialect.utf8`. */
export function toBuffer(text: Utf8): Buffer {
  return typeof text === 'string' ? joinTexts([text]) : text
}

/** The longest text that is encoded through the reused buffer, in characters. */
const LONGEST = 2 ** 20
const COMMA = 0x2c
const encoder = new TextEncoder()
let scratch: Uint8Array | undefined

/**
 * Joins texts with commas, as UTF-8. Measured: encoding into a reused buffer and copying takes two thirds of the time
 * of `Buffer.from`. Encoding each text separately is faster than joining them first, because most are plain ASCII.
 */
export function joinTexts(texts: readonly string[]): Buffer {
  let characters = texts.length
  for (const text of texts) characters += text.length
  if (characters > LONGEST) return Buffer.from(texts.join(','))

  // A UTF-16 code unit takes at most three bytes.
  scratch ??= new Uint8Array(3 * LONGEST)
  let end = 0
  for (const [index, text] of texts.entries()) {
    if (index > 0) scratch[end++] = COMMA
    end += encoder.encodeInto(text, scratch.subarray(end)).written
  }
  return Buffer.from(scratch.subarray(0, end))
}
