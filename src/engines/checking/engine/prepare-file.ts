import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, createWriteStream, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { countCutBytes } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { DialectDecoder, isUnusual } from './dialect.ts'

/** A file in plain UTF-8 that can be read at any offset. */
export interface PreparedFile {
  /** The file itself, or its decompressed or converted copy. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly encoding: Encoding
  readonly hasNul: boolean
  /** Faults of the file as a whole, as full sentences. */
  readonly faults: readonly string[]
  /** What was guessed about it, as full sentences. */
  readonly notes: readonly string[]
  /** Whether its records can be read. */
  readonly readable: boolean
}

type Encoding = 'UTF-8' | 'UTF-16' | 'UTF-32' | 'Windows-1252'

/** The disk space for copies is exhausted. */
export class NoRoom extends Error {}

interface Look {
  readonly start: Buffer
  readonly bytes: number
  readonly sha256: string
  readonly hasNul: boolean
  readonly hasLf: boolean
  readonly hasCr: boolean
  /** The number of multi-byte UTF-8 sequences and of invalid bytes; only counted if there are any. */
  readonly sequences: number
  readonly strays: number
}

/**
 * Scans a whole file once for its digest, encoding and line endings. Files in gzip, UTF-16 or Windows-1252 are copied
 * to plain UTF-8, the only format that later steps read.
 *
 * @throws {NoRoom} if a copy needs more than `room` bytes
 */
export async function prepareFile(
  path: string,
  options: {
    folder: string
    name: string
    room: number
    resource: Pick<Resource, 'dialect' | 'fields'>
  },
): Promise<PreparedFile> {
  const { folder, name, room, resource } = options
  const look = inspect(path)
  const copy = join(folder, name)
  const common = { bytes: look.bytes, sha256: look.sha256 }
  const unreadable = (fault: string): PreparedFile => {
    return { ...common, path, encoding: 'UTF-8', hasNul: false, faults: [fault], notes: [], readable: false }
  }
  if (look.bytes === 0) return unreadable('The file is empty. It must have at least a header.')
  if (look.start[0] === 0x1f && look.start[1] === 0x8b) {
    try {
      await pipeline(createReadStream(path), createGunzip(), limit(room), createWriteStream(copy))
    } catch (error) {
      if (error instanceof NoRoom || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
      return unreadable('The file is gzip, but it is damaged or incomplete. Pack it again.')
    }
    const inner = await prepareFile(copy, {
      ...options,
      name: `${name}-plain`,
      room: room - look.bytes,
    })
    return { ...inner, ...common }
  }
  const other = nameFormat(look.start)
  if (other !== undefined) return unreadable(`The file is ${other}, not text. Export it as CSV in UTF-8.`)
  const utf32 = findUtf32(look.start)
  if (utf32 !== undefined) {
    await convert(path, copy, inDialect(new Utf32Decoder(utf32), resource), room)
    const converted = inspect(copy)
    const { hasNul } = converted
    const notes = [describeEncoding('UTF-32')]
    return { ...common, path: copy, encoding: 'UTF-32', hasNul, faults: [], notes, readable: true }
  }
  const utf16 = findUtf16(look.start)
  if (utf16 !== undefined) {
    await convert(path, copy, inDialect(new TextDecoder(utf16), resource), room)
    const converted = inspect(copy)
    return {
      ...common,
      path: copy,
      encoding: 'UTF-16',
      hasNul: converted.hasNul,
      faults: [],
      notes: [describeEncoding('UTF-16')],
      readable: true,
    }
  }
  if (look.strays > 0 && look.sequences === 0) {
    await convert(path, copy, inDialect(new TextDecoder('windows-1252'), resource), room)
    return {
      ...common,
      path: copy,
      encoding: 'Windows-1252',
      hasNul: look.hasNul,
      faults: [],
      notes: [describeEncoding('Windows-1252')],
      readable: true,
    }
  }
  if (isUnusual(resource.dialect)) {
    await convert(path, copy, inDialect(new TextDecoder(), resource), room)
    const { hasNul } = look
    return { ...common, path: copy, encoding: 'UTF-8', hasNul, faults: [], notes: [], readable: true }
  }
  if (look.hasCr && !look.hasLf) {
    await convert(path, copy, new TextDecoder(), room, true)
    const notes = ['The lines end with CR only. They were read as if they ended with LF.']
    const { hasNul } = look
    return { ...common, path: copy, encoding: 'UTF-8', hasNul, faults: [], notes, readable: true }
  }
  return { ...common, path, encoding: 'UTF-8', hasNul: look.hasNul, faults: [], notes: [], readable: true }
}

type Decoder = Pick<TextDecoder, 'decode'>

/** A decoder that also rewrites a dialect which later steps do not know. */
function inDialect(decoder: Decoder, { dialect, fields }: Pick<Resource, 'dialect' | 'fields'>): Decoder {
  const names = fields.map(({ name }) => name)
  return isUnusual(dialect) ? new DialectDecoder(decoder, dialect, names) : decoder
}

function describeEncoding(encoding: Encoding): string {
  return `The file was read as ${encoding}, because it is not UTF-8.`
}

function inspect(path: string): Look {
  const file = openSync(path, 'r')
  try {
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(1 << 20)
    let start = Buffer.alloc(0)
    let bytes = 0
    let carried = 0
    let [hasNul, hasLf, hasCr] = [false, false, false]
    let [sequences, strays] = [0, 0]
    for (;;) {
      const read = readSync(file, buffer, carried, buffer.length - carried, bytes)
      const chunk = buffer.subarray(0, carried + read)
      hash.update(buffer.subarray(carried, carried + read))
      if (bytes === 0) start = Buffer.from(chunk.subarray(0, 4096))
      bytes += read
      hasNul ||= chunk.includes(0)
      hasLf ||= chunk.includes(10)
      hasCr ||= chunk.includes(13)
      const whole = read === 0 ? chunk : chunk.subarray(0, chunk.length - countCutBytes(chunk))
      if (!isAscii(whole)) {
        if (isUtf8(whole)) sequences++
        else [sequences, strays] = countSequences(whole, sequences, strays)
      }
      if (read === 0) break
      carried = chunk.length - whole.length
      chunk.copy(buffer, 0, whole.length)
    }
    return { start, bytes, sha256: hash.digest('hex'), hasNul, hasLf, hasCr, sequences, strays }
  } finally {
    closeSync(file)
  }
}

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

/** Names the format of a file that is certainly not text. */
function nameFormat(start: Buffer): string | undefined {
  const signature = start.subarray(0, 8).toString('latin1')
  if (signature.startsWith('PK\x03\x04')) {
    const text = start.toString('latin1')
    if (text.includes('xl/') || text.includes('[Content_Types].xml')) return 'an Excel workbook (XLSX)'
    return text.includes('opendocument.spreadsheet') ? 'a spreadsheet (ODS)' : 'a ZIP archive'
  }
  if (signature.startsWith('PK\x05\x06')) return 'an empty ZIP archive'
  if (signature.startsWith('\xd0\xcf\x11\xe0')) return 'an Excel workbook (XLS)'
  if (signature.startsWith('%PDF')) return 'a PDF document'
  if (signature.startsWith('PAR1')) return 'a Parquet file'
  if (signature.startsWith('SQLite f')) return 'a SQLite database'
  return undefined
}

function findUtf16(start: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  // Without a byte order mark: the header is ASCII, so every other byte is zero.
  const zeros = (offset: number) => [0, 2, 4, 6].every((at) => start[at + offset] === 0)
  if (start.length < 8) return undefined
  if (zeros(1) && !zeros(0)) return 'utf-16le'
  return zeros(0) && !zeros(1) ? 'utf-16be' : undefined
}

/** Without a byte order mark: the header is ASCII, so three of four bytes are zero. */
function findUtf32(start: Buffer): 'le' | 'be' | undefined {
  if (start.length < 8) return undefined
  const words = [0, 4]
  const isAscii = (word: number) => (word > 0 && word < 0x80) || word === 0xfeff
  if (words.every((at) => isAscii(start.readUInt32LE(at)))) return 'le'
  return words.every((at) => isAscii(start.readUInt32BE(at))) ? 'be' : undefined
}

/** Decodes UTF-32, which `TextDecoder` does not know. What is no character becomes U+FFFD. */
class Utf32Decoder {
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

async function convert(
  path: string,
  copy: string,
  decoder: Decoder,
  room: number,
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
  await pipeline(createReadStream(path), toUtf8, limit(room), createWriteStream(copy))
}

/** Fails after more than `room` bytes. */
function limit(room: number): Transform {
  let passed = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      passed += chunk.length
      if (passed > room) done(new NoRoom())
      else done(null, chunk)
    },
  })
}
