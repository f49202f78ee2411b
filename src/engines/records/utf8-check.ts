import { isAscii, isUtf8 } from 'node:buffer'

const LF = 10

/** Checks that content is UTF-8, piece by piece. */
export class Utf8Check {
  /** The line on which the next byte is. */
  #line = 1
  /** The start of a character that continues in the next piece. */
  #cut: Buffer = Buffer.alloc(0)

  /** Returns the number of the first line that is not UTF-8, if any. */
  push(piece: Buffer): number | undefined {
    if (this.#cut.length > 0 || !isAscii(piece)) {
      const bytes = this.#cut.length > 0 ? Buffer.concat([this.#cut, piece]) : piece
      const whole = bytes.subarray(0, bytes.length - countCutBytes(bytes))
      if (!isUtf8(whole)) return this.#line + countValidLines(whole)
      this.#cut = Buffer.from(bytes.subarray(whole.length))
    }
    for (let at = piece.indexOf(LF); at !== -1; at = piece.indexOf(LF, at + 1)) this.#line++
    return undefined
  }

  /** Returns the number of the last line if the content ends within a character. */
  end(): number | undefined {
    return this.#cut.length > 0 ? this.#line : undefined
  }
}

/** The number of bytes at the end of a piece that begin a character continued in the next one. */
export function countCutBytes(piece: Buffer): number {
  for (let back = 1; back <= Math.min(3, piece.length); back++) {
    const byte = piece[piece.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** The number of lines before the first one that is not UTF-8. */
function countValidLines(bytes: Buffer): number {
  let lines = 0
  let start = 0
  for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
    if (!isUtf8(bytes.subarray(start, end))) break
    lines++
    start = end + 1
  }
  return lines
}
