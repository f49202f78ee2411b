import { takeTurn } from '../../foundation/timed-turns.ts'
import type { Source } from './byte-window.ts'

/** The bytes that are worked on before others may get a turn. */
const PIECE_BYTES = 64 * 1024

/**
 * Passes on content in pieces of at most 64 KiB, and takes a turn after each: whatever reads a piece in
 * linear time cannot hold up the event loop. Smaller chunks are collected, so that many of them cost no more than one.
 * A piece is valid until the next one.
 */
export async function* inTurns(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const collected = Buffer.allocUnsafeSlow(PIECE_BYTES)
  let filled = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (filled === 0 && chunk.length - at >= PIECE_BYTES) {
        yield chunk.subarray(at, at + PIECE_BYTES)
        at += PIECE_BYTES
      } else {
        const copied = chunk.copy(collected, filled, at)
        at += copied
        filled += copied
        if (filled < PIECE_BYTES) continue
        yield collected
        filled = 0
      }
      await takeTurn()
    }
  }
  if (filled > 0) yield collected.subarray(0, filled)
}

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
 * Lets a reader read content in turns. Each time it is yielded, `next()` moves through the records that are complete.
 *
 * ```ts
 * for await (const reader of readInTurns(chunks, (source) => new CsvReader(source)))
 *   while (reader.next()) use(reader.cells)
 * ```
 */
export function readInTurns<Reader>(
  chunks: AsyncIterable<Buffer>,
  open: (source: Source) => Reader,
): AsyncGenerator<Reader, void> {
  return readAsArriving(inTurns(chunks), open)
}

/**
 * Lets a reader read chunks as soon as they arrive, such as those of a pipe that stays open; for a process that serves
 * nobody meanwhile.
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

/** Takes a turn after each 64 KiB of work. */
export class Turns {
  #spent = 0

  async spend(bytes: number): Promise<void> {
    this.#spent += bytes
    if (this.#spent < PIECE_BYTES) return
    this.#spent = 0
    await takeTurn()
  }
}

/**
 * Collects lines to pieces of 64 KiB, and takes a turn after each: a short record can become a long line.
 *
 * ```ts
 * for (const line of lines) if (writer.add(line)) yield await writer.take()
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

  async take(): Promise<Buffer> {
    await takeTurn()
    return this.#join()
  }

  /** The last piece, if any. */
  *end(): Generator<Buffer> {
    if (this.#length > 0) yield this.#join()
  }

  #join(): Buffer {
    this.#endText()
    const piece = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    return piece
  }
}
