import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'

/** Whether a path is a file, and no link to a file that is gone. */
export function isFile(path: string): boolean {
  // A path that no file can have, such as one with NUL, is an error of statSync.
  return existsSync(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** The first bytes of a file. */
export function readBytes(path: string, most: number): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(most)
    return bytes.subarray(0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}

/** What operating systems and spreadsheet programs add to folders, such as hidden files and locks. */
const JUNK = /(?:^|\/)(?:__MACOSX|\.(?!\.?(?:\/|$))[^/]*|~\$[^/]*|Thumbs\.db)(?:\/|$)/i

/** Whether a file is no data, by its path in a folder or an archive. */
export function isJunk(path: string): boolean {
  return JUNK.test(path)
}

/** Names of files that a check cannot read, unless they are text all the same. */
const OTHER = /\.(?:xlsb|xls|ods|numbers|docx?|json|pdf|html?)$/i

export function hasOtherFormat(name: string): boolean {
  return OTHER.test(name)
}
