import { findUtf16 } from './encoding.ts'

/** A file that is certainly no table of text. */
export interface FileFormat {
  /** With its article. */
  readonly name: string
  /** What to do so that it can be checked, as full sentences. */
  readonly advice: string
  /** Whether it is an archive or a workbook whose content is read. */
  readonly isContainer: boolean
}

export const JSON_LIST = 'a JSON list'

const ZIP = 'PK\\x03\\x04'
const WORKBOOK = 'an Excel workbook (XLSX)'
const ARCHIVE = 'a ZIP archive'
const EMPTY_ARCHIVE = 'an empty ZIP archive'
const AS_XLSX = 'Save it as XLSX or CSV.'
const AS_UTF8 = 'Save it as CSV in UTF-8.'
const AS_TABLE = 'Export the table from the program that made it, as CSV or XLSX.'

/** A ZIP archive with an entry whose name begins so: the name follows 26 bytes of its head. */
const archiveWith = (name: string) => new RegExp(`^${ZIP}(?:[^]*${ZIP})?[^]{26}${name}`)

const FORMATS: readonly (readonly [form: RegExp | string, name: string, advice?: string])[] = [
  [archiveWith('mimetypeapplication/vnd\\.oasis\\.opendocument'), 'a spreadsheet (ODS)', AS_XLSX],
  [archiveWith('xl/workbook\\.bin'), 'a binary workbook (XLSB)', AS_XLSX],
  [archiveWith('word/'), 'a Word document (DOCX)', AS_TABLE],
  [
    archiveWith('(?:xl/|\\[Content_Types\\]\\.xml)'),
    WORKBOOK,
    'Give it a name that ends with .xlsx, or export it as CSV in UTF-8.',
  ],
  [archiveWith('(?:Index[/.]|preview[\\w-]*\\.jpg)'), 'a Numbers spreadsheet', 'Export it as XLSX or CSV.'],
  [new RegExp(`^${ZIP}`), ARCHIVE, 'Unpack it.'],
  ['PK\x05\x06', EMPTY_ARCHIVE],
  [
    '\xd0\xcf\x11\xe0',
    'an Excel workbook in the old format (XLS), or one with a password',
    'Save it as XLSX without a password.',
  ],
  [/^(?:\x89PNG|\xff\xd8\xff|GIF8)/, 'an image', AS_TABLE],
  ['%PDF', 'a PDF document', AS_TABLE],
  ['\xff\xfe\0\0', 'text in UTF-32', AS_UTF8],
  ['\0\0\xfe\xff', 'text in UTF-32', AS_UTF8],
  // Its first page or its footer follows: a column of a CSV file may have this name.
  ['PAR1\x15', 'a Parquet file'],
  ['SQLite f', 'a SQLite database'],
  [/^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|meta|body|table|div|style)\b/i, 'an HTML page'],
  // A column may have a name in angle brackets.
  [/^(?:\xef\xbb\xbf)?\s*<(?:\?xml\b|!--|[\w.:-]+(?:\s[^<>]*)?>\s*<[\w!/])/i, 'an XML document'],
  [/^(?:\xef\xbb\xbf)?\s*\[\s*[{[]/, JSON_LIST],
]

/** The part of control characters that no text has: a record may have one of them, and a delimiter may be another. */
const SHARE_OF_CONTROLS = 0.06
const BINARY = ['', 'a binary file', AS_TABLE] as const
const GZIP = '\x1f\x8b'

function isBinary(start: Buffer, bytes: string): boolean {
  if (!bytes.includes('\0') || bytes.startsWith(GZIP) || findUtf16(start) !== undefined) return false
  const controls = start.filter((byte) => byte < 0x20 && (byte < 0x09 || byte > 0x0d))
  return controls.length > 3 + start.length * SHARE_OF_CONTROLS
}

/** What a file is that is certainly no table of text, by its first bytes; `undefined` if it may be one. */
export function findFormat(start: Buffer): FileFormat | undefined {
  const bytes = start.toString('latin1')
  const [, name, advice = 'Export it as CSV in UTF-8.'] =
    FORMATS.find(([form]) => (typeof form === 'string' ? bytes.startsWith(form) : form.test(bytes))) ??
    (isBinary(start, bytes) ? BINARY : [])
  if (name === undefined) return undefined
  return { name, advice, isContainer: [WORKBOOK, ARCHIVE, EMPTY_ARCHIVE].includes(name) }
}

/**
 * What a file is that is certainly no CSV, by its first bytes, and what to do: the end of a sentence.
 *
 * @param accepted the name of a format that is read, too
 */
export function describeFormat(start: Buffer, accepted?: string): string | undefined {
  const format = findFormat(start)
  if (format === undefined || format.name === accepted) return undefined
  return `${format.name}, not CSV. ${format.advice}`
}
