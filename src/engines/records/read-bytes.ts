import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import { describeReadError } from '../../foundation/faults/read-error.ts'
import { describeFormat, JSON_LIST } from './file-format.ts'

/** The name of standard input on the command line and in messages. */
export const STANDARD_INPUT = '-'

/** The largest record, in bytes: many times the size of any real one, but small enough for memory. */
export const MAX_RECORD_BYTES = 1024 * 1024

/** A file that was read completely. */
export interface ReadFile {
  /** The name as the caller gave it. */
  readonly name: string
  /** SHA-256 of its raw bytes, in hexadecimal. */
  readonly sha256: string
}

/** Describes a file for the history, reading it only for that. */
export async function describeFile(name: string): Promise<ReadFile> {
  const digest = createHash('sha256')
  for await (const chunk of createReadStream(name, { highWaterMark: 256 * 1024 })) digest.update(chunk)
  return { name, sha256: digest.digest('hex') }
}

export interface ReadBytesOptions {
  /** Called with the number of bytes read from the files, before decompression. */
  readonly onBytes?: (count: number) => void
  /** Called with each file that was read completely. */
  readonly onFile?: (file: ReadFile) => void
}

/**
 * Reads a file or standard input, decompresses gzip and removes a byte order mark.
 *
 * @throws {InputRefused} if the file cannot be read or is a damaged gzip file
 */
export async function* readBytes(file: string, options: ReadBytesOptions = {}): AsyncGenerator<Buffer, void> {
  let atStart = true
  for await (const chunk of joinStart(unpack(file, options), 3)) {
    const format = atStart ? describeFormat(chunk.subarray(0, 4096), JSON_LIST) : undefined
    if (format !== undefined) refuse({ file, message: `is ${format}` })
    const text = atStart ? dropMark(chunk, file) : chunk
    atStart = false
    if (text.length === 0) continue
    yield text
  }
}

/**
 * Yields the same bytes with at least `least` of them in the first chunk, if there are as many; pipes may give fewer.
 */
export async function* joinStart(chunks: AsyncIterable<Buffer>, least: number): AsyncGenerator<Buffer, void> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start = start.length === 0 ? chunk : Buffer.concat([start, chunk])
    if (start.length < least) continue
    yield start
    start = undefined
  }
  if (start !== undefined && start.length > 0) yield start
}

async function* unpack(file: string, options: ReadBytesOptions): AsyncGenerator<Buffer, void> {
  const source = joinStart(readSource(file, options), 2)
  const { value: first } = await source.next()
  if (first === undefined) return
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    for await (const chunk of prepend(first, source)) {
      options.onBytes?.(chunk.length)
      yield chunk
    }
    return
  }

  const gunzip = createGunzip()
  const end = new LastByte()
  const feeding = pipeline(end.watch(prepend(first, source)), gunzip)
  // The data may turn out to be damaged while nobody awaits the next chunk.
  feeding.catch(() => undefined)
  try {
    let used = 0
    for await (const chunk of gunzip) {
      // Not the bytes read: a whole compressed file can be read before its first record is decompressed.
      options.onBytes?.(gunzip.bytesWritten - used)
      used = gunzip.bytesWritten
      yield chunk as Buffer
    }
    await feeding
    // Zeros may pad the file. Other data after them would be skipped silently.
    if (end.position >= gunzip.bytesWritten)
      refuse({ file, message: 'Data follows the end of the gzip stream' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      refuse({ file, message: 'The gzip file is damaged or truncated' })
    }
    throw error
  } finally {
    gunzip.destroy()
    await feeding.catch(() => undefined)
  }
}

/** The position of the last non-zero byte. */
class LastByte {
  position = -1

  async *watch(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let read = 0
    for await (const chunk of chunks) {
      for (let index = chunk.length - 1; index >= 0; index--) {
        if (chunk[index] === 0) continue
        this.position = read + index
        break
      }
      read += chunk.length
      yield chunk
    }
  }
}

/** Yields the first chunk again, then the rest; closes the source even if only the first chunk is read. */
export async function* prepend(
  first: Buffer,
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  try {
    yield first
    yield* rest
  } finally {
    await rest.return()
  }
}

async function* readSource(file: string, { onFile }: ReadBytesOptions): AsyncGenerator<Buffer> {
  const digest = onFile && createHash('sha256')
  try {
    for await (const chunk of file === STANDARD_INPUT ? process.stdin : await openFile(file)) {
      digest?.update(chunk)
      yield chunk
    }
    if (digest !== undefined) onFile?.({ name: file, sha256: digest.digest('hex') })
  } catch (error) {
    if (error instanceof InputRefused || !(error instanceof Error) || !('syscall' in error)) throw error
    refuse({ file, message: describeReadError((error as NodeJS.ErrnoException).code) })
  }
}

async function openFile(file: string): Promise<AsyncIterable<Buffer>> {
  const handle: FileHandle = await open(file)
  if ((await handle.stat()).isDirectory()) {
    await handle.close()
    refuse({ file, message: describeReadError('EISDIR') })
  }
  return createReadStream('', { fd: handle, highWaterMark: 256 * 1024 })
}

function dropMark(chunk: Buffer, file: string): Buffer {
  const marked = (chunk[0] === 0xff && chunk[1] === 0xfe) || (chunk[0] === 0xfe && chunk[1] === 0xff)
  // Without a mark, every second byte at the start of such files is zero.
  const unmarked = chunk.length > 1 && (chunk[0] === 0) !== (chunk[1] === 0)
  if (marked || unmarked) {
    refuse({ file, message: 'The file is UTF-16. Save it as UTF-8' })
  }
  return chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? chunk.subarray(3) : chunk
}
