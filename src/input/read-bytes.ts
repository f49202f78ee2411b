import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { refuse } from './faults.ts'

/** The name under which standard input is asked for and reported. */
export const STANDARD_INPUT = '-'

/** The largest record, in bytes: many times any real one, and little enough to be held in memory. */
export const MAX_RECORD_BYTES = 1024 * 1024

/**
 * The bytes of a file or of standard input, unpacked if they are gzip, without a byte order mark.
 *
 * @param onBytes called with the number of bytes read from the file itself, as they are read
 * @throws {InputRefused} if the file can't be read, is empty, or is no whole gzip
 */
export async function* readBytes(file: string, onBytes?: (count: number) => void): AsyncGenerator<Buffer> {
  let empty = true
  for await (const chunk of unpack(file, onBytes)) {
    const text = empty ? dropMark(chunk, file) : chunk
    empty = false
    if (text.length > 0) yield text
  }
  if (empty) refuse({ file, message: 'is empty: it should hold records' })
}

async function* unpack(file: string, onBytes?: (count: number) => void): AsyncGenerator<Buffer> {
  const source = watch(await openSource(file), onBytes)
  const { value: first } = await source.next()
  if (first === undefined) return
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    yield first
    yield* source
    return
  }

  const gunzip = createGunzip()
  const feeding = feed(gunzip, first, source)
  try {
    for await (const chunk of gunzip) yield chunk as Buffer
    await feeding
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      refuse({ file, message: 'is not a whole gzip file: it is damaged or was cut off' })
    }
    throw error
  } finally {
    gunzip.destroy()
    await feeding.catch(() => undefined)
  }
}

async function feed(gunzip: ReturnType<typeof createGunzip>, first: Buffer, rest: AsyncGenerator<Buffer>) {
  const write = (chunk: Buffer) =>
    new Promise<void>((resolve) => {
      // Ends as well when the reader has gone: nothing drains a stream that is destroyed.
      if (gunzip.destroyed || gunzip.write(chunk)) resolve()
      else gunzip.once('drain', resolve).once('close', resolve)
    })
  await write(first)
  for await (const chunk of rest) {
    if (gunzip.destroyed) return
    await write(chunk)
  }
  gunzip.end()
}

async function* watch(
  source: AsyncIterable<Buffer>,
  onBytes?: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    onBytes?.(chunk.length)
    yield chunk
  }
}

async function openSource(file: string): Promise<AsyncIterable<Buffer>> {
  if (file === STANDARD_INPUT) return process.stdin
  let handle: FileHandle
  try {
    handle = await open(file)
  } catch (error) {
    refuse({
      file,
      message: READ_ERRORS[(error as NodeJS.ErrnoException).code ?? ''] ?? `can't be read: ${error}`,
    })
  }
  if ((await handle.stat()).isDirectory()) {
    await handle.close()
    refuse({ file, message: 'is a folder: name the files in it' })
  }
  return createReadStream('', { fd: handle, highWaterMark: 256 * 1024 })
}

const READ_ERRORS: Record<string, string> = {
  ENOENT: 'does not exist',
  EACCES: "can't be read: this user has no right to",
  EISDIR: 'is a folder: name the files in it',
}

function dropMark(chunk: Buffer, file: string): Buffer {
  if ((chunk[0] === 0xff && chunk[1] === 0xfe) || (chunk[0] === 0xfe && chunk[1] === 0xff)) {
    refuse({ file, message: 'is UTF-16: save it as UTF-8' })
  }
  return chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? chunk.subarray(3) : chunk
}
