import { inflateRawSync } from 'node:zlib'
import type { ShownNumber } from './table.ts'

/**
 * The numbers of a sheet whose format shows other digits than are stored, such as `0000` for codes, by row and column:
 * `2,0` is A2. The reader of spreadsheets shows only which formats are those of dates. What this cannot read is shown
 * as it is stored.
 *
 * @param bytes an XLSX file whose unpacked size has been checked
 * @param withErrors whether errors of formulas, such as `#N/A`, are among them; the reader leaves them out
 */
export function readShownNumbers(
  bytes: Buffer,
  sheet: string,
  withErrors = false,
): ReadonlyMap<string, ShownNumber> {
  const shown = new Map<string, ShownNumber>()
  const files = listFiles(bytes)
  const read = (path: string) => files.get(path)?.() ?? ''
  const formats = readFormats(read('xl/styles.xml'))
  if (formats.every((format) => format === undefined) && !withErrors) return shown
  let cell = ''
  for (const [, attributes, value] of read(findSheet(read, sheet)).matchAll(CELL_OR_VALUE)) {
    if (attributes !== undefined) cell = attributes
    if (value === undefined) continue
    const { r: place = '', s: style, t: type = 'n' } = readAttributes(cell)
    if (type === 'e' && withErrors) shown.set(toIndexes(place), { stored: '', shown: value.trim() })
    const format = formats[Number(style)]
    if (format === undefined || type !== 'n') continue
    const stored = value.trim()
    const text = format(stored)
    if (text !== stored) shown.set(toIndexes(place), { stored, shown: text })
  }
  return shown
}

/** The attributes of a cell, or a value, which belongs to the cell before it. */
const CELL_OR_VALUE = /<(?:\w{1,20}:)?(?:c\s([^<>]*)|v(?:\s[^<>]*)?>([^<]*))/g

function readAttributes(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name = '', one, other]) => [
      name,
      unescapeXml(one ?? other ?? ''),
    ]),
  )
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescapeXml(text: string): string {
  return text.replaceAll(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

function listTags(xml: string, name: string): Readonly<Record<string, string>>[] {
  const tags = xml.matchAll(new RegExp(`<(?:\\w{1,20}:)?${name}\\s([^<>]*)>`, 'g'))
  return [...tags].map(([, attributes = '']) => readAttributes(attributes))
}

/** The path of a sheet's file within the archive. */
function findSheet(read: (path: string) => string, sheet: string): string {
  const found = listTags(read('xl/workbook.xml'), 'sheet').find(({ name }) => name === sheet) ?? {}
  const id = Object.entries(found).find(([name]) => name.endsWith(':id'))?.[1]
  const target = listTags(read('xl/_rels/workbook.xml.rels'), 'Relationship').find(
    ({ Id }) => Id === id,
  )?.Target
  if (target === undefined) return ''
  return target.startsWith('/') ? target.slice(1) : `xl/${target}`
}

type Format = (stored: string) => string

/** How each style of the cells shows a whole number, where it is not as it is stored. */
function readFormats(styles: string): (Format | undefined)[] {
  const codes = new Map(
    listTags(styles, 'numFmt').map(({ numFmtId, formatCode }) => [numFmtId, formatCode] as const),
  )
  const start = styles.search(/<(?:\w{1,20}:)?cellXfs[\s>]/)
  const used = start < 0 ? '' : styles.slice(start, styles.indexOf('cellXfs>', start + 10))
  return listTags(used, 'xf').map(({ numFmtId }) => readFormat(codes.get(numFmtId)))
}

/** The parts of a format: digits, text between quotes or after a backslash, and separators of codes. */
const PART = /0|#|"([^"]*)"|\\(.)|[-/ ().]/gy

/**
 * Reads a format of whole numbers with leading zeros, such as `0000`, `00-0000` or `"A"000`; `undefined` for any other,
 * such as one of amounts, which does not show a code.
 */
function readFormat(code = ''): Format | undefined {
  const [positive = ''] = code.split(';')
  const parts: { digit?: string; text?: string }[] = []
  PART.lastIndex = 0
  let end = 0
  for (let match = PART.exec(positive); match !== null; match = PART.exec(positive)) {
    const [part, quoted, escaped] = match
    parts.push(part === '0' || part === '#' ? { digit: part } : { text: quoted ?? escaped ?? part })
    end = PART.lastIndex
  }
  const last = parts.findLastIndex(({ digit }) => digit !== undefined)
  // A point is one of the decimal fraction.
  if (end < positive.length || last < 0 || /\./.test(positive.replaceAll(/"[^"]*"|\\./g, '')))
    return undefined
  const first = parts.findIndex(({ digit }) => digit !== undefined)
  return (stored) => {
    if (!/^\d+$/.test(stored)) return stored
    const digits = stored === '0' ? [] : [...stored]
    const shown: string[] = []
    for (let index = parts.length - 1; index >= 0; index--) {
      const { digit, text = '' } = parts[index] ?? {}
      if (digit === undefined) shown.unshift(text)
      else shown.unshift(digits.pop() ?? (digit === '0' ? '0' : ''))
      // The first place of a format takes every further digit.
      if (index === first) shown.unshift(digits.splice(0).join(''))
    }
    return shown.join('')
  }
}

/** `B7` as `7,1`. */
function toIndexes(place: string): string {
  const [, letters = '', row = ''] = /^([A-Z]+)(\d+)$/.exec(place) ?? []
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0)
  return `${row},${column - 1}`
}

const END = Buffer.from('PK\u0005\u0006', 'latin1')
const ENTRY = 0x02014b50
const DEFLATED = 8

/** The files of a ZIP archive by path, each unpacked on demand. */
function listFiles(bytes: Buffer): ReadonlyMap<string, () => string> {
  const files = new Map<string, () => string>()
  const end = bytes.lastIndexOf(END)
  if (end < 0 || end + 22 > bytes.length) return files
  let at = bytes.readUInt32LE(end + 16)
  while (at + 46 <= bytes.length && bytes.readUInt32LE(at) === ENTRY) {
    const method = bytes.readUInt16LE(at + 10)
    const size = bytes.readUInt32LE(at + 20)
    const [name, extra, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ]
    const local = bytes.readUInt32LE(at + 42)
    files.set(bytes.toString('utf8', at + 46, at + 46 + name), () => {
      if (local + 30 > bytes.length) return ''
      const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
      const content = bytes.subarray(start, start + size)
      return (method === DEFLATED ? inflateRawSync(content) : content).toString('utf8')
    })
    at += 46 + name + extra + comment
  }
  return files
}
