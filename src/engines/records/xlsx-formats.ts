import { inflateRawSync } from 'node:zlib'
import { lookUp } from '../../foundation/look-up.ts'
import { dropEnd } from '../../foundation/text/drop-end.ts'
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
    [...text.matchAll(/(?<![\w:])([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(
      ([, name = '', one, other]) => [name, unescapeXml(one ?? other ?? '')],
    ),
  )
}

const ENTITIES = lookUp<string>({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" })

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

/** How each style of the cells shows a number, where it is not as it is stored. */
function readFormats(styles: string): (Format | undefined)[] {
  const codes = new Map(
    listTags(styles, 'numFmt').map(({ numFmtId, formatCode }) => [numFmtId, formatCode] as const),
  )
  const start = styles.search(/<(?:\w{1,20}:)?cellXfs[\s>]/)
  const used = start < 0 ? '' : styles.slice(start, styles.indexOf('cellXfs>', start + 10))
  return listTags(used, 'xf').map(({ numFmtId }) => readFormat(codes.get(numFmtId)))
}

/** A language, or a colour: neither changes the digits. A language with more than four hexadecimal digits has others. */
const MODIFIER =
  /\[(?:\$-(?:[\da-f]{1,4}|[a-z]{2,3}(?:-[a-z]{2,8})*)|black|blue|cyan|green|magenta|red|white|yellow|color ?\d{1,2})\]/

/**
 * The parts of a format: digits, a decimal point, text between quotes or after a backslash, a space as wide as a
 * character, spaces that fill the cell, and separators of codes.
 */
const PART = new RegExp(`0|#|\\.|"([^"]*)"|\\\\(.)|_.|\\* |${MODIFIER.source}|[-/ ()]`, 'giy')

/** A place of a digit, or text. */
type Part = { readonly digit: '0' | '#' } | { readonly text: string }

/**
 * Reads a format of numbers with leading zeros, such as `0000`, `00-0000`, `"A"000` or `000.0`; `undefined` for any
 * other, such as one of amounts, which does not show a code.
 */
function readFormat(code = ''): Format | undefined {
  const [positive = ''] = code.split(';')
  const whole: Part[] = []
  const fraction: Part[] = []
  let points = 0
  let end = 0
  for (const match of positive.matchAll(PART)) {
    end = match.index + match[0].length
    if (match[0] === '.') points++
    else (points === 0 ? whole : fraction).push(readPart(match))
  }
  // A fraction can also be that of an amount, such as `0.00`.
  const isCode = points === 0 ? countPlaces(whole) > 0 : points === 1 && countPlaces(whole, '0') > 1
  if (end < positive.length || !isCode) return undefined
  return (stored) => {
    const number = stored.includes('.') ? readNumber(stored) : stored
    const [, digits, decimals = ''] = /^(\d+)(?:\.(\d+))?$/.exec(number) ?? []
    // A format with too few places shows a rounded number, which is no code.
    if (digits === undefined || decimals.length > countPlaces(fraction)) return stored
    return `${fillWhole(whole, digits)}${'.'.repeat(points)}${fillFraction(fraction, decimals)}`.trim()
  }
}

function readPart([part, quoted, escaped]: RegExpExecArray): Part {
  if (part === '0' || part === '#') return { digit: part }
  if (part.startsWith('_')) return { text: ' ' }
  return { text: quoted ?? escaped ?? (/^[[*]/.test(part) ? '' : part) }
}

function countPlaces(parts: readonly Part[], digit?: '0' | '#'): number {
  return parts.filter((part) => 'digit' in part && (digit ?? part.digit) === part.digit).length
}

/** Puts digits in their places from the right. */
function fillWhole(parts: readonly Part[], whole: string): string {
  const digits = whole === '0' ? [] : [...whole]
  const first = parts.findIndex((part) => 'digit' in part)
  const shown: string[] = []
  for (const [index, part] of [...parts.entries()].reverse()) {
    shown.unshift('text' in part ? part.text : (digits.pop() ?? fillPlace(part.digit)))
    // The first place of a format takes every further digit.
    if (index === first) shown.unshift(digits.splice(0).join(''))
  }
  return shown.join('')
}

/** Puts decimals in their places from the left. */
function fillFraction(parts: readonly Part[], decimals: string): string {
  const digits = [...decimals]
  return parts
    .map((part) => ('text' in part ? part.text : (digits.shift() ?? fillPlace(part.digit))))
    .join('')
}

/** What a place without a digit shows. */
function fillPlace(digit: '0' | '#'): string {
  return digit === '0' ? '0' : ''
}

/**
 * A number with the 15 digits that a spreadsheet program shows: it stores 0.1 + 0.2 as 0.30000000000000004, and shows
 * 0.3.
 */
export function readNumber(stored: string): string {
  const digits = stored.replace(/^-?0*\.?0*|\./g, '')
  if (/^-?\d+(?:\.\d+)?$/.test(stored) && digits.length <= 15) return stored
  const rounded = Number(Number(stored).toPrecision(15))
  if (!Number.isFinite(rounded)) return stored
  if (Number.isInteger(rounded)) return BigInt(rounded).toString()
  return Math.abs(rounded) < 1e-6 ? dropEnd(rounded.toFixed(20), (digit) => digit === '0') : String(rounded)
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
