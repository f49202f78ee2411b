import { isAscii, isUtf8 } from 'node:buffer'

/** Finds out, while a file is read piece by piece, how its bytes are encoded and its lines end. */
export class EncodingLook {
  #sequences = 0
  #strays = 0
  #hasLf = false
  #hasCr = false
  #hasNul = false
  /** The start of a character that continues in the next piece. */
  #cut: Buffer = Buffer.alloc(0)

  push(piece: Buffer): void {
    this.#hasLf ||= piece.includes('\n')
    this.#hasCr ||= piece.includes('\r')
    this.#hasNul ||= piece.includes(0)
    const bytes = this.#cut.length > 0 ? Buffer.concat([this.#cut, piece]) : piece
    const whole = bytes.subarray(0, bytes.length - countCutBytes(bytes))
    this.#count(whole)
    this.#cut = Buffer.from(bytes.subarray(whole.length))
  }

  #count(bytes: Buffer): void {
    if (isAscii(bytes)) return
    if (isUtf8(bytes)) this.#sequences++
    else [this.#sequences, this.#strays] = countSequences(bytes, this.#sequences, this.#strays)
  }

  get hasNul(): boolean {
    return this.#hasNul
  }

  /** Whether its lines end with CR only. */
  get endsWithCr(): boolean {
    return this.#hasCr && !this.#hasLf
  }

  /**
   * The encoding of content that does not begin like UTF-16. Bytes beyond ASCII of which all are UTF-8 are
   * UTF-8. Otherwise they are what they should be; or Windows-1252, if none are UTF-8. If only some are not, their
   * records are faulty. Without a zero byte, which each line end has there, nothing is UTF-16.
   *
   * @param known the encoding that the content should have, unless that is UTF-8
   */
  end(known?: string): string {
    this.#count(this.#cut)
    const [sequences, strays] = [this.#sequences, this.#strays]
    const isPossible = this.#hasNul || known === undefined || !/^utf-16/.test(nameEncoding(known))
    if (known !== undefined && isPossible && (sequences === 0 || strays > 0)) return known
    return strays > 0 && sequences === 0 ? 'Windows-1252' : 'UTF-8'
  }
}

/** The name of an encoding in the Encoding Standard. */
export function nameEncoding(name: string): string {
  return new TextDecoder(name).encoding
}

/** Counts sequences of several bytes in UTF-8, and bytes that belong to none. */
function countSequences(bytes: Buffer, sequences: number, strays: number): [number, number] {
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) {
      at++
      continue
    }
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1
    if (length > 1 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length) {
      sequences++
      at += length
    } else {
      strays++
      at++
    }
  }
  return [sequences, strays]
}

export function findUtf16(start: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  // Without a byte order mark: the header is ASCII, so every other byte is zero.
  const zeros = (offset: number) => [0, 2, 4, 6].every((at) => start[at + offset] === 0)
  if (start.length < 8) return undefined
  if (zeros(1) && !zeros(0)) return 'utf-16le'
  return zeros(0) && !zeros(1) ? 'utf-16be' : undefined
}

/** The number of bytes at the end of a piece that begin a character continued in the next one. */
function countCutBytes(piece: Buffer): number {
  for (let back = 1; back <= Math.min(3, piece.length); back++) {
    const byte = piece[piece.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}
