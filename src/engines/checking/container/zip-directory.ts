import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const DIRECTORY_END = Buffer.from('PK\u0005\u0006', 'latin1')
/** The end record of a ZIP archive with the longest comment. */
const MOST_END = 22 + 65_535
/** The directory of a workbook is a fraction of it. */
const MOST_DIRECTORY = 2 ** 20
/** The part that each Office document has. */
const CONTENT_TYPES = '[Content_Types].xml'

/** Whether a ZIP archive is a workbook, which its directory says: an archive can also contain a workbook. */
export function isWorkbook(path: string): boolean {
  return withEnd(path, (file, end) => {
    if (end === undefined) return false
    const [bytes, from] = [end.readUInt32LE(12), end.readUInt32LE(16)]
    return listNames(read(file, from, Math.min(bytes, MOST_DIRECTORY))).includes(CONTENT_TYPES)
  })
}

/** Whether a file ends like a ZIP archive, with its directory: one that was cut off does not. */
export function hasDirectory(path: string): boolean {
  return withEnd(path, (_, end) => end !== undefined)
}

/** Reads the record at the end of an archive's directory (APPNOTE.TXT, section 4.3.16). */
function withEnd<T>(path: string, use: (file: number, end: Buffer | undefined) => T): T {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const rest = read(file, Math.max(0, size - MOST_END), Math.min(size, MOST_END))
    const at = rest.lastIndexOf(DIRECTORY_END)
    return use(file, at < 0 || at + 22 > rest.length ? undefined : rest.subarray(at))
  } finally {
    closeSync(file)
  }
}

function read(file: number, from: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, from))
}

/** The names in the directory of an archive. */
function listNames(directory: Buffer): string[] {
  const names: string[] = []
  for (
    let at = 0;
    at + 46 <= directory.length && directory.toString('latin1', at, at + 4) === 'PK\u0001\u0002';
  ) {
    const length = directory.readUInt16LE(at + 28)
    names.push(directory.toString('utf8', at + 46, at + 46 + length))
    at += 46 + length + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
  }
  return names
}
