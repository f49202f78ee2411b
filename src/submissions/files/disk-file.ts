import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'

/** Opens a file only when it is read, and closes it in any case. */
export async function* readFile(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>
}

interface WriteOptions {
  readonly signal?: AbortSignal
  /** Whether it must be on the disk at the end. */
  readonly flush?: boolean
}

/** Writes content to a new file, and measures it. */
export async function writeNew(
  path: string,
  content: AsyncIterable<Buffer>,
  { signal, flush = false }: WriteOptions = {},
): Promise<{ bytes: number; sha256: string }> {
  const digest = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of content) {
      signal?.throwIfAborted()
      bytes += piece.length
      digest.update(piece)
      await file.writeFile(piece)
    }
    if (flush) await file.sync()
  } finally {
    await file.close()
  }
  return { bytes, sha256: digest.digest('hex') }
}
