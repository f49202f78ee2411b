import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

/** Pieces in which text is made: as many bytes as a pipe takes at a time. */
const PIECE = 64 * 1024

/** A text over and over, so many bytes long in all, between a beginning and an end. */
export function* repeated(text: string, bytes: number, before = '', after = ''): Generator<Buffer> {
  const piece = Buffer.from(text.repeat(Math.max(1, Math.floor(PIECE / text.length))))
  yield Buffer.from(before)
  let left = bytes
  for (; left >= piece.length; left -= piece.length) yield piece
  yield piece.subarray(0, left)
  yield Buffer.from(after)
}

/** The pieces as standard input. */
export function streamOf(pieces: Iterable<Buffer>): Readable {
  return Readable.from(pieces, { objectMode: false, highWaterMark: PIECE })
}

/** The pieces packed with gzip, as they are made. */
export function packed(pieces: Iterable<Buffer>): Readable {
  return streamOf(pieces).pipe(createGzip({ level: 1 }))
}
