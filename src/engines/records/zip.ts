import { isUtf8 } from 'node:buffer'
import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import { Readable, type Transform } from 'node:stream'
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib'

const DIRECTORY_END = Buffer.from('PK\u0005\u0006', 'latin1')
const ENTRY = 0x02014b50
const STORED = 0
const DEFLATED = 8
/** The end record of a ZIP archive with the longest comment. */
const MOST_END = 22 + 65_535
/** The directory of a workbook is a fraction of it; one of more files than are accepted is not taken for damage. */
const MOST_DIRECTORY = 2 ** 24
/** The part that each Office document has. */
const CONTENT_TYPES = '[Content_Types].xml'
/** A size that is in the extra field of ZIP64 instead, which some programs write for small files too. */
const ELSEWHERE = 0xffffffff
const ZIP64 = 1

/** A file in a ZIP archive, as the directory of the archive states. */
export interface ZipEntry {
  readonly name: string
  /** How it is compressed (APPNOTE.TXT, section 4.4.5). */
  readonly method: number
  readonly isEncrypted: boolean
  readonly crc32: number
  readonly packedBytes: number
  /** The offset of its own header. */
  readonly at: number
}

/** Reads bytes of an archive, or fewer at its end. */
type ReadAt = (from: number, bytes: number) => Buffer

/** Whether a ZIP archive is a workbook, which its directory says: an archive can also contain a workbook. */
export function isWorkbook(path: string): boolean {
  return readEntries(path)?.some(({ name }) => name === CONTENT_TYPES) === true
}

/** The files and folders of an archive in the order of their content; `undefined` if its directory is missing. */
export function readEntries(path: string): ZipEntry[] | undefined {
  return withFile(path, (size, read) => readDirectory(size, read))?.sort((one, other) => one.at - other.at)
}

/** Whether programs that read archives know how a file is compressed. */
export function isKnownMethod({ method }: ZipEntry): boolean {
  return method === STORED || method === DEFLATED
}

/** The files of an archive in memory; none if its directory is missing. */
export function listEntries(bytes: Buffer): ZipEntry[] {
  return readDirectory(bytes.length, (from, length) => bytes.subarray(from, from + length)) ?? []
}

/** Streams that read and unpack a file of an archive; they fail if it is damaged, but for its checksum. */
export function openEntry(path: string, { at, packedBytes, method }: ZipEntry): [Readable, ...Transform[]] {
  const start = withFile(path, (_, read) => findContent(at, read))
  // The end is included.
  const packed =
    packedBytes === 0 ? Readable.from([]) : createReadStream(path, { start, end: start + packedBytes - 1 })
  return method === DEFLATED ? [packed, createInflateRaw()] : [packed]
}

/** The offset of the content of a file: the lengths of its name and extra field can differ from those in the directory. */
function findContent(at: number, read: ReadAt): number {
  const header = read(at, 30)
  return at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
}

/**
 * Unpacks a file of an archive in memory.
 *
 * @throws {RangeError} with the code `ERR_BUFFER_TOO_LARGE` if it has more bytes than `most`
 * @throws {Error} if it is damaged
 */
export function unpackEntry(bytes: Buffer, entry: ZipEntry, most: number): Buffer {
  const { at, packedBytes, method } = entry
  if (!isKnownMethod(entry)) throw new Error(`the compression method ${method} is unknown`)
  const start = findContent(at, (from, length) => bytes.subarray(from, from + length))
  const packed = bytes.subarray(start, start + packedBytes)
  const unpacked =
    method === DEFLATED ? inflateRawSync(packed, { maxOutputLength: Math.max(most, 1) }) : packed
  if (crc32(unpacked) !== entry.crc32) throw new Error('the checksum is wrong')
  return unpacked
}

function withFile<T>(path: string, use: (size: number, read: ReadAt) => T): T {
  const file = openSync(path, 'r')
  try {
    return use(fstatSync(file).size, (from, bytes) => {
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, from))
    })
  } finally {
    closeSync(file)
  }
}

/** Finds the record at the end of an archive's directory (APPNOTE.TXT, section 4.3.16). */
function findEnd(size: number, read: ReadAt): Buffer | undefined {
  const rest = read(Math.max(0, size - MOST_END), Math.min(size, MOST_END))
  const at = rest.lastIndexOf(DIRECTORY_END)
  return at < 0 || at + 22 > rest.length ? undefined : rest.subarray(at)
}

function readDirectory(size: number, read: ReadAt): ZipEntry[] | undefined {
  const end = findEnd(size, read)
  if (end === undefined) return undefined
  if (end.readUInt32LE(12) > MOST_DIRECTORY) return undefined
  const directory = read(end.readUInt32LE(16), end.readUInt32LE(12))
  const entries: ZipEntry[] = []
  for (let at = 0; at + 46 <= directory.length && directory.readUInt32LE(at) === ENTRY; ) {
    const afterName = at + 46 + directory.readUInt16LE(at + 28)
    const afterExtra = afterName + directory.readUInt16LE(at + 30)
    const stated = [24, 20, 42].map((offset) => directory.readUInt32LE(at + offset))
    const [, packedBytes = 0, own = 0] = readSizes(stated, directory.subarray(afterName, afterExtra))
    entries.push({
      name: readName(directory.subarray(at + 46, afterName)),
      method: directory.readUInt16LE(at + 10),
      isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
      crc32: directory.readUInt32LE(at + 16),
      packedBytes,
      at: own,
    })
    at = afterExtra + directory.readUInt16LE(at + 32)
  }
  // The number is that of the last 16 bits.
  return entries.length % 65_536 === end.readUInt16LE(10) ? entries : undefined
}

/** The upper half of the code page 437, in which old programs write names. */
const UPPER_437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

function readName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  return Array.from(bytes, (byte) => UPPER_437[byte - 128] ?? String.fromCharCode(byte)).join('')
}

/** The unpacked size, the packed size and the offset of a file, of which ZIP64 has those that are stated as elsewhere. */
function readSizes(stated: readonly number[], extra: Buffer): number[] {
  let at = 0
  while (at + 4 <= extra.length && extra.readUInt16LE(at) !== ZIP64) at += 4 + extra.readUInt16LE(at + 2)
  at += 4
  return stated.map((size) => {
    if (size !== ELSEWHERE || at + 8 > extra.length) return size
    at += 8
    return Number(extra.readBigUInt64LE(at - 8))
  })
}
