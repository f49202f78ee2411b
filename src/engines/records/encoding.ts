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
   * The encoding of content that does not begin like UTF-16 or UTF-32. Bytes beyond ASCII of which all are UTF-8 are
   * UTF-8. Otherwise they are what they should be; or Windows-1252, if none are UTF-8. If only some are not, their
   * records are faulty. Without a zero byte, which each line end has there, nothing is UTF-16 or UTF-32.
   *
   * @param known the encoding that the content should have, unless that is UTF-8
   */
  end(known?: string): string {
    this.#count(this.#cut)
    const [sequences, strays] = [this.#sequences, this.#strays]
    const isPossible = this.#hasNul || known === undefined || !/^utf-(?:16|32)/.test(nameEncoding(known))
    if (known !== undefined && isPossible && (sequences === 0 || strays > 0)) return known
    return strays > 0 && sequences === 0 ? 'Windows-1252' : 'UTF-8'
  }
}

/** The name of an encoding in the Encoding Standard, or `utf-32`, which `TextDecoder` does not know. */
export function nameEncoding(name: string): string {
  const lower = name.toLowerCase()
  return lower === 'utf-32' ? lower : new TextDecoder(name).encoding
}

/** A decoder of an encoding by a name of it. */
export function openDecoder(name: string): Pick<TextDecoder, 'decode'> {
  return nameEncoding(name) === 'utf-32' ? new Utf32Decoder('le') : new TextDecoder(name)
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

/** Without a byte order mark: the header is ASCII, so three of four bytes are zero. */
export function findUtf32(start: Buffer): 'le' | 'be' | undefined {
  if (start.length < 8) return undefined
  const words = [0, 4]
  const isAscii = (word: number) => (word > 0 && word < 0x80) || word === 0xfeff
  if (words.every((at) => isAscii(start.readUInt32LE(at)))) return 'le'
  return words.every((at) => isAscii(start.readUInt32BE(at))) ? 'be' : undefined
}

/** Decodes UTF-32, which `TextDecoder` does not know. What is no character becomes U+FFFD. */
export class Utf32Decoder {
  readonly #order: 'le' | 'be'
  #rest: Buffer = Buffer.alloc(0)
  #isStart = true

  constructor(order: 'le' | 'be') {
    this.#order = order
  }

  decode(chunk: Uint8Array = Buffer.alloc(0), { stream = false } = {}): string {
    const bytes = Buffer.concat([this.#rest, chunk])
    const end = bytes.length - (bytes.length % 4)
    let text = ''
    for (let at = 0; at < end; at += 4) {
      const code = this.#order === 'le' ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
      if (this.#isStart && code === 0xfeff) continue
      this.#isStart = false
      text += code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? '\ufffd' : String.fromCodePoint(code)
    }
    this.#rest = bytes.subarray(end)
    return !stream && this.#rest.length > 0 ? `${text}\ufffd` : text
  }
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
