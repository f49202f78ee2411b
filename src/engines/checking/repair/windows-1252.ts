import { byteOfWindows1252 } from '../../../foundation/text/mojibake.ts'

/**
 * The letters that a file has in every encoding that it may be if it was read as Windows-1252. Those of Windows and
 * ISO 8859 for Latin letters have é, ó, ö and ü at the same places. Those of DOS and the Macintosh have capitals and
 * signs there, such as È and ³, which do not stand between small letters.
 */
const SURE = /(?<=[a-z])é(?![A-Z])|(?<=[A-Za-z])[éóöü](?=[a-z])/g

export const NOT_ASCII = /[^\p{ASCII}]/u

/** Whether a text that was read as Windows-1252 may be another one. */
export function isUnsure(text: string): boolean {
  return NOT_ASCII.test(text) && NOT_ASCII.test(text.replaceAll(SURE, ''))
}

/** The bytes that a text had before it was read as Windows-1252. */
export function toWindows1252(text: string | Uint8Array): Buffer {
  return Buffer.from(
    Array.from(Buffer.from(text as string).toString(), (each) => byteOfWindows1252(each) ?? 0x3f),
  )
}
