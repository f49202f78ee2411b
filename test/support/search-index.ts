import { IndexBuilder } from '../../src/engines/finding/build.ts'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import type { IndexData } from '../../src/engines/finding/index-data.ts'
import { listPieces } from '../../src/engines/finding/index-file.ts'
import { compareCodePoints } from '../../src/foundation/text/code-points.ts'

/** Builds the index of documents in any order. The same documents always give the same index. */
export function buildIndex(
  documents: readonly SearchDocument[],
  options: Parameters<IndexBuilder['finish']>[0],
): IndexData {
  const builder = new IndexBuilder()
  for (const document of [...documents].sort((a, b) => compareCodePoints(a.code, b.code)))
    builder.add(document)
  return builder.finish(options)
}

/** Packs an index into one piece of memory that threads can share. */
export function packIndex(data: IndexData): SharedArrayBuffer {
  const pieces = [...listPieces(data)]
  const memory = new SharedArrayBuffer(pieces.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const piece of pieces) {
    new Uint8Array(memory).set(piece, offset)
    offset += piece.length
  }
  return memory
}
