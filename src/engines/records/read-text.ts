import { isUtf8 } from 'node:buffer'
import { refuse } from '../../foundation/faults/faults.ts'
import { readBytes } from './read-bytes.ts'

/**
 * Reads the whole text of a file or of standard input, which may be compressed with gzip.
 *
 * @throws {InputRefused} if it cannot be read, is empty, or is no text in UTF-8
 */
export async function readText(file: string): Promise<string> {
  const bytes = Buffer.concat(await Array.fromAsync(readBytes(file)))
  if (bytes.length === 0) refuse({ file, message: 'The file is empty' })
  if (!isUtf8(bytes)) refuse({ file, message: 'is not UTF-8. Save the file as UTF-8' })
  if (bytes.includes(0)) refuse({ file, message: 'has NUL characters, so it is no text file' })
  return bytes.toString()
}
