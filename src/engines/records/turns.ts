import { setImmediate as takeTurn } from 'node:timers/promises'
import type { Source } from './byte-window.ts'

/** The bytes that are worked on before others get a turn. */
const PIECE_BYTES = 64 * 1024

/**
 * Passes on content in pieces of at most 64 KiB, and lets others have a turn after each: whatever reads a piece in
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

/** Lets others have a turn after each 64 KiB of work. */
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
 * Collects text to pieces of 64 KiB, and lets others have a turn after each: a short record can become a long line.
 *
 * ```ts
 * for (const line of lines) if (writer.add(line)) yield await writer.take()
 * yield* writer.end()
 * ```
 */
export class PieceWriter {
  #text = ''

  /** Returns whether the piece is full. */
  add(text: string): boolean {
    this.#text += text
    return this.#text.length >= PIECE_BYTES
  }

  async take(): Promise<Buffer> {
    await takeTurn()
    const piece = Buffer.from(this.#text)
    this.#text = ''
    return piece
  }

  /** The last piece, if any. */
  *end(): Generator<Buffer> {
    if (this.#text !== '') yield Buffer.from(this.#text)
  }
}
