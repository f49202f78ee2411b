import { randomFillSync } from 'node:crypto'

/** How many ids are rendered at once. */
const BATCH = 512
/** Bytes of an id, and characters of its text. */
const SIZE = 16
const LENGTH = 36

const DIGITS = '0123456789abcdef'
const HYPHEN = 0x2d

const bytes = Buffer.alloc(BATCH * SIZE)
const characters = Buffer.alloc(BATCH * LENGTH)
let texts = ''
let next = BATCH

/**
 * Creates the id of a request: a UUID of version 4 (RFC 9562, section 5.4). The text of `randomUUID` consists of twenty
 * pieces, which are copied one by one into the header and the log line; this one is a part of a flat text.
 */
export function createRequestId(): string {
  if (next === BATCH) {
    texts = renderIds()
    next = 0
  }
  const start = next++ * LENGTH
  return texts.slice(start, start + LENGTH)
}

function renderIds(): string {
  randomFillSync(bytes)
  let end = 0
  for (let index = 0; index < bytes.length; index++) {
    const place = index % SIZE
    let byte = bytes[index] as number
    if (place === 6) byte = (byte & 0x0f) | 0x40
    if (place === 8) byte = (byte & 0x3f) | 0x80
    if (place === 4 || place === 6 || place === 8 || place === 10) characters[end++] = HYPHEN
    characters[end++] = DIGITS.charCodeAt(byte >> 4)
    characters[end++] = DIGITS.charCodeAt(byte & 0x0f)
  }
  return characters.toString('latin1')
}
