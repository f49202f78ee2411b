import { createHash } from 'node:crypto'
import { closeSync, createReadStream, createWriteStream, openSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { describeFormat, EncodingLook, findUtf16 } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { nameFamily, ownEncoding } from '../definition/read-encoding.ts'
import { DialectDecoder, isUnusual } from './dialect.ts'
import { EXPORT_AGAIN, type FileFault } from './file-fault.ts'

/** A file in plain UTF-8 that can be read at any offset. */
export interface PreparedFile {
  /** The file itself, or its decompressed or converted copy. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** `UTF-8`, another one that was detected, or the one that the definition states. */
  readonly encoding: string
  readonly hasNul: boolean
  /** Faults of the file as a whole. */
  readonly faults: readonly FileFault[]
  /** What was guessed about it, as full sentences. */
  readonly notes: readonly string[]
  /** Whether its records can be read. */
  readonly readable: boolean
}

/** The disk space that copies may still take, in bytes. */
export interface CopyRoom {
  left: number
}

/** The disk space for copies is exhausted. */
export class NoRoom extends Error {}

interface Look {
  readonly start: Buffer
  readonly bytes: number
  readonly sha256: string
  readonly text: EncodingLook
}

/**
 * Scans a whole file once for its digest, encoding and line endings. Files in gzip or another encoding are copied to
 * plain UTF-8, the only format that later steps read. UTF-16 and UTF-8 show in the bytes, and override an
 * encoding that the definition states: corrected copies and sheets of workbooks are UTF-8.
 *
 * @param options.room is reduced by the bytes of its copies
 * @throws {NoRoom} if a copy needs more
 */
export async function prepareFile(
  path: string,
  options: {
    folder: string
    name: string
    room: CopyRoom
    resource: Pick<Resource, 'dialect' | 'fields'> & Partial<Pick<Resource, 'encoding'>>
  },
): Promise<PreparedFile> {
  const { folder, name, room, resource } = options
  const { encoding: stated } = resource
  const look = inspect(path)
  const copy = join(folder, name)
  const common = { bytes: look.bytes, sha256: look.sha256 }
  const unreadable = (fault: FileFault): PreparedFile => {
    return { ...common, path, encoding: 'UTF-8', hasNul: false, faults: [fault], notes: [], readable: false }
  }
  if (look.bytes === 0)
    return unreadable({ message: 'The file is empty: it has no header.', fix: EXPORT_AGAIN })
  if (look.start[0] === 0x1f && look.start[1] === 0x8b) {
    try {
      await writeCopy(path, createGunzip(), copy, room)
    } catch (error) {
      if (error instanceof NoRoom || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
      return unreadable({
        message: 'The file is gzip, but it is damaged or incomplete. Pack it again.',
      })
    }
    const inner = await prepareFile(copy, { ...options, name: `${name}-plain` })
    return { ...inner, ...common }
  }
  /** Copies a file that is not plain UTF-8 with lines that end with LF. */
  const finish = async (
    encoding: string,
    decoder: Decoder,
    said: Partial<Pick<PreparedFile, 'notes' | 'faults'>>,
  ): Promise<PreparedFile> => {
    const isCopied = encoding !== 'UTF-8' || isUnusual(resource.dialect)
    if (isCopied) await convert(path, copy, inDialect(decoder, resource), room)
    const { hasNul, endsWithCr } = isCopied ? inspect(copy).text : look.text
    const decoded = { ...common, encoding, hasNul, faults: [], notes: [], readable: true, ...said }
    const place = isCopied ? copy : path
    if (!endsWithCr) return { ...decoded, path: place }
    const ended = join(folder, `${name}-lines`)
    await convert(place, ended, new TextDecoder(), room, true)
    return { ...decoded, path: ended, notes: [...decoded.notes, CR_NOTE] }
  }
  const other = describeFormat(look.start)
  if (other !== undefined) return unreadable({ message: `The file is ${other}` })
  const utf16 = findUtf16(look.start)
  if (utf16 !== undefined)
    return await finish('UTF-16', new TextDecoder(utf16), { notes: describeDetected('UTF-16', stated) })
  const own = ownEncoding(stated)
  const encoding = look.text.end(own)
  if (encoding === own) {
    const watched = new WatchedDecoder(new TextDecoder(encoding))
    const prepared = await finish(encoding, watched, {})
    if (watched.line === undefined) return prepared
    const message = `Line ${watched.line} has bytes that are no characters in ${encoding}, the encoding in the definition. Save the file in this encoding, or correct the definition.`
    return { ...prepared, faults: [{ message }] }
  }
  if (encoding === 'UTF-8' || stated === undefined) {
    const notes = encoding === 'UTF-8' && stated === undefined ? [] : describeDetected(encoding, stated)
    return await finish(encoding, new TextDecoder(encoding), { notes })
  }
  const message = `The file is not in ${stated}, the encoding in the definition: it was read as ${encoding}. Save it as UTF-8, or correct the definition.`
  return await finish(encoding, new TextDecoder(encoding), { faults: [{ message }] })
}

/** A note of an encoding that the bytes of a file show, unless it is the one that the definition states. */
function describeDetected(encoding: string, stated: string | undefined): string[] {
  if (stated === undefined) return [`The file was read as ${encoding}, because it is not UTF-8.`]
  if (nameFamily(stated) === encoding) return []
  return [
    `The file was read as ${encoding}, as its bytes show. The definition says ${stated}: correct the one that is wrong.`,
  ]
}

export const CR_NOTE = 'The lines end with CR only. They were read as if they ended with LF.'

type Decoder = Pick<TextDecoder, 'decode'>

/** A decoder that also rewrites a dialect which later steps do not know. */
function inDialect(decoder: Decoder, { dialect, fields }: Pick<Resource, 'dialect' | 'fields'>): Decoder {
  const names = fields.map(({ name }) => name)
  return isUnusual(dialect) ? new DialectDecoder(decoder, dialect, names) : decoder
}

/** Finds the first line with bytes that are no characters. */
class WatchedDecoder {
  line: number | undefined
  readonly #decoder: Decoder
  #lines = 1

  constructor(decoder: Decoder) {
    this.#decoder = decoder
  }

  decode(chunk?: Uint8Array, options?: { stream?: boolean }): string {
    const text = this.#decoder.decode(chunk, options)
    if (this.line !== undefined) return text
    const at = text.indexOf('\ufffd')
    this.#lines += text.slice(0, at === -1 ? undefined : at).split('\n').length - 1
    if (at !== -1) this.line = this.#lines
    return text
  }
}

function inspect(path: string): Look {
  const file = openSync(path, 'r')
  try {
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(1 << 20)
    const text = new EncodingLook()
    let start = Buffer.alloc(0)
    let bytes = 0
    for (;;) {
      const read = readSync(file, buffer, 0, buffer.length, bytes)
      if (read === 0) break
      const chunk = buffer.subarray(0, read)
      hash.update(chunk)
      text.push(chunk)
      if (bytes === 0) start = Buffer.from(chunk.subarray(0, 4096))
      bytes += read
    }
    return { start, bytes, sha256: hash.digest('hex'), text }
  } finally {
    closeSync(file)
  }
}

async function convert(
  path: string,
  copy: string,
  decoder: Decoder,
  room: CopyRoom,
  endLines = false,
): Promise<void> {
  const toUtf8 = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      const text = decoder.decode(chunk, { stream: true })
      done(null, endLines ? text.replaceAll('\r', '\n') : text)
    },
    flush(done: TransformCallback) {
      done(null, decoder.decode())
    },
  })
  await writeCopy(path, toUtf8, copy, room)
}

/** Writes a copy within the room. One that fails is deleted, and takes none. */
async function writeCopy(path: string, change: Transform, copy: string, room: CopyRoom): Promise<void> {
  const before = room.left
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      room.left -= chunk.length
      if (room.left < 0) done(new NoRoom())
      else done(null, chunk)
    },
  })
  try {
    await pipeline(createReadStream(path), change, limit, createWriteStream(copy))
  } catch (error) {
    rmSync(copy, { force: true })
    room.left = before
    throw error
  }
}
