import type { Source } from './byte-window.ts'

/** The bytes that are written at once. */
const PIECE_BYTES = 64 * 1024

/** Bytes for a reader that arrive one piece after the other. */
export class PieceSource {
  #piece: Buffer = Buffer.alloc(0)
  #ended = false

  /** Gives the reader a piece, which must stay until the reader has no next record. */
  push(piece: Buffer): void {
    this.#piece = piece
  }

  end(): void {
    this.#ended = true
  }

  readonly read: Source = (into) => {
    if (this.#piece.length === 0) return this.#ended ? 0 : undefined
    const copied = this.#piece.copy(into)
    this.#piece = this.#piece.subarray(copied)
    return copied
  }
}

/** Bytes for a reader that are all there. */
export function sourceOf(bytes: Buffer): Source {
  const source = new PieceSource()
  source.push(bytes)
  source.end()
  return source.read
}

/**
 * Lets a reader read chunks as they arrive, such as those of a pipe that stays open. Each time it is yielded, `next()`
 * moves through the records that are complete.
 *
 * ```ts
 * for await (const reader of readAsArriving(chunks, (source) => new CsvReader(source)))
 *   while (reader.next()) use(reader.cells)
 * ```
 */
export async function* readAsArriving<Reader>(
  chunks: AsyncIterable<Buffer>,
  open: (source: Source) => Reader,
): AsyncGenerator<Reader, void> {
  const source = new PieceSource()
  const reader = open(source.read)
  for await (const chunk of chunks) {
    source.push(chunk)
    yield reader
  }
  source.end()
  yield reader
}

/**
 * Collects lines to pieces of 64 KiB.
 *
 * ```ts
 * for (const line of lines) if (writer.add(line)) yield writer.take()
 * yield* writer.end()
 * ```
 */
export class PieceWriter {
  #parts: Buffer[] = []
  #text = ''
  #length = 0

  /**
   * Returns whether the piece is full.
   *
   * @param line text, or bytes that are copied as they are, whether they are text or not
   */
  add(line: string | Buffer): boolean {
    this.#length += line.length
    if (typeof line === 'string') this.#text += line
    else {
      this.#endText()
      this.#parts.push(Buffer.from(line))
    }
    return this.isFull
  }

  get isFull(): boolean {
    return this.#length >= PIECE_BYTES
  }

  #endText(): void {
    if (this.#text !== '') this.#parts.push(Buffer.from(this.#text))
    this.#text = ''
  }

  take(): Buffer {
    this.#endText()
    const piece = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    return piece
  }

  /** The last piece, if any. */
  *end(): Generator<Buffer> {
    if (this.#length > 0) yield this.take()
  }
}
