/**
 * Decides how the value of a spreadsheet's cell is read: as a person would type what the cell shows. Text keeps its
 * spaces. A number has the 15 digits that a spreadsheet program shows, whatever words surround it; a code such as
 * `0042` has those that its format shows. Dates and times have the form of ISO 8601, whatever their format, and only
 * the parts that it shows. Durations can have any number of hours.
 */

/** A cell that is more than its text. */
interface SheetCell {
  /** `formula` is one without a stored result. */
  readonly kind: 'code' | 'moment' | 'error' | 'formula'
  /** A number as it is in the file, or a date with its time, whether it is shown or not. */
  readonly stored: string
  readonly shown: string
}

/** A cell of a table. */
export type Cell = string | SheetCell

/** A cell as it is in the file (ECMA-376, part 1, section 18.3.1.4). */
export interface StoredCell {
  readonly type: string
  readonly format: NumberFormat
  readonly value: string
  readonly formula: string | undefined
}

export function readCell({ type, format, value, formula }: StoredCell, is1904: boolean): Cell {
  if (type === 'inlineStr' || type === 'str' || type === 's') return value
  const stored = value.trim()
  if (stored === '')
    return formula === undefined ? '' : { kind: 'formula', stored: '', shown: `=${formula.trim()}` }
  if (type === 'b') return /^(?:1|true)$/i.test(stored) ? 'TRUE' : 'FALSE'
  if (type === 'e') return { kind: 'error', stored: '', shown: stored }
  if (type === 'd') return readIsoDate(stored, format)
  const shown = format.show(stored, is1904)
  if (shown === undefined) return readNumber(stored)
  if (format.kind === 'code') return { kind: 'code', stored, shown }
  const seconds = Math.round(Number(stored) * 86_400)
  const time = showTime(seconds % 86_400, 0)
  return { kind: 'moment', stored: `${showDay(Math.floor(seconds / 86_400), is1904)}T${time}`, shown }
}

/** A number with 15 digits, and without an exponent: a program stores 3 as `3.0` and 0.1 + 0.2 as 0.30000000000000004. */
function readNumber(stored: string): string {
  if (/^-?[1-9]\d{0,14}$/.test(stored)) return stored
  const number = Number(stored)
  if (stored === '' || !Number.isFinite(number)) return stored
  const [, sign = '', first = '', others = '', power = ''] =
    /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(Number(number.toPrecision(15)).toExponential()) ?? []
  const digits = first + others
  const whole = Number(power) + 1
  if (digits === '0') return digits
  if (whole <= 0) return `${sign}0.${'0'.repeat(-whole)}${digits}`
  if (whole >= digits.length) return sign + digits.padEnd(whole, '0')
  return `${sign}${digits.slice(0, whole)}.${digits.slice(whole)}`
}

/** How a format shows numbers, where they are not just numbers; `undefined` for a number that it does not change. */
export interface NumberFormat {
  readonly kind: 'code' | 'moment'
  readonly hasTime: boolean
  readonly show: (stored: string, is1904: boolean) => string | undefined
}

export const GENERAL: NumberFormat = { kind: 'code', hasTime: true, show: () => undefined }

/** The formats that a file need not define (ECMA-376, part 1, section 18.8.30), as far as they show dates or times. */
const BUILT_IN: ReadonlyMap<number, string> = new Map([
  ...[14, 15, 16, 17, ...range(27, 31), 36, ...range(50, 58)].map((id) => [id, 'yyyy-mm-dd'] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35].map((id) => [id, 'h:mm:ss'] as const),
  [22, 'yyyy-mm-dd h:mm'],
  [45, 'mm:ss'],
  [46, '[h]:mm:ss'],
  [47, 'mm:ss.0'],
])

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** The longest format that a spreadsheet program accepts. */
const MOST_FORMAT = 255

/** Reads a format by its number, and its code if the file defines it. */
export function readFormat(id: number, defined: string | undefined): NumberFormat {
  const code = defined ?? BUILT_IN.get(id) ?? ''
  if (code.length > MOST_FORMAT) return GENERAL
  const tokens: string[] = []
  for (const [token] of code.matchAll(TOKEN)) {
    // The first section is that of positive numbers.
    if (token === ';') break
    tokens.push(token)
  }
  return readMomentFormat(tokens) ?? readCodeFormat(tokens) ?? GENERAL
}

/** Text, a space as wide as a character, a character that fills the cell, brackets, letters of dates, or a character. */
const TOKEN = /"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|general|am\/pm|a\/p|e[+-]|y+|m+|d+|h+|s+|./gisu

const SECOND = /^(?:s+|\[s+\])$/i

function readMomentFormat(tokens: readonly string[]): NumberFormat | undefined {
  const parts = tokens.filter((token) => /^(?:[ymdhs]+|\[(?:h+|m+|s+)\]|am\/pm|a\/p)$/i.test(token))
  if (parts.length === 0) return undefined
  const isElapsed = parts.some((part) => part.startsWith('['))
  // `m` is a minute beside hours or seconds.
  const isDate = (part: string, at: number) =>
    /^[yd]/i.test(part) ||
    /^mmm/i.test(part) ||
    (/^m/i.test(part) && !/^\[?h/i.test(parts[at - 1] ?? '') && !SECOND.test(parts[at + 1] ?? ''))
  const hasDate = !isElapsed && parts.some(isDate)
  const hasTime = parts.some((part, at) => !isDate(part, at))
  const second = tokens.findLastIndex((token) => SECOND.test(token))
  const [, decimals = ''] = /^\.(0+)/.exec(second < 0 ? '' : tokens.slice(second + 1).join('')) ?? []
  const places = Math.min(decimals.length, 3)
  const show = (stored: string, is1904: boolean) => {
    const serial = Number(stored)
    // A spreadsheet program shows no date outside of its calendar.
    if (!(serial >= 0 && serial < END_OF_CALENDAR)) return undefined
    const perDay = 86_400 * 10 ** places
    // Without its time, the last moment of a day is still of this day.
    const ticks = hasTime ? Math.round(serial * perDay) : Math.floor(serial + SAME_MOMENT) * perDay
    if (isElapsed) return showTime(ticks, places)
    const time = showTime(ticks % perDay, places)
    if (!hasDate || (hasTime && ticks < perDay)) return time
    const day = showDay(Math.floor(ticks / perDay), is1904)
    return hasTime ? `${day}T${time}` : day
  }
  return { kind: 'moment', hasTime, show }
}

/** The part of a day, a tenth of a millisecond, that the sums of a spreadsheet lose. */
const SAME_MOMENT = 1e-9

/** The day after 9999-12-31. */
const END_OF_CALENDAR = 2_958_466

function showTime(ticks: number, places: number): string {
  const seconds = Math.floor(ticks / 10 ** places)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const fraction = String(ticks % 10 ** places).padStart(places, '0')
  const time = `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
  return places === 0 ? time : `${time}.${fraction}`
}

/** Days count from 1900, which had a 29 February according to the first spreadsheet programs, or from 1904. */
function showDay(days: number, is1904: boolean): string {
  if (!is1904 && days === 0) return '1900-01-00'
  if (!is1904 && days === 60) return '1900-02-29'
  const from = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30)
  return new Date(from + days * 86_400_000).toISOString().slice(0, 10)
}

function readIsoDate(stored: string, { kind, hasTime }: NumberFormat): Cell {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2})?T?(\d{2}:\d{2}:\d{2})?(?:\.\d+)?Z?$/.exec(stored) ?? []
  if (day === undefined && time === undefined) return stored
  if (day === undefined) return { kind: 'moment', stored, shown: time ?? '' }
  const isDay = time === undefined || (kind === 'moment' && !hasTime)
  return { kind: 'moment', stored: `${day}T${time ?? '00:00:00'}`, shown: isDay ? day : `${day}T${time}` }
}

/** A language, or a colour: neither changes the digits. A language with more than four hexadecimal digits has others. */
const MODIFIER =
  /^\[(?:\$-(?:[\da-f]{1,4}|[a-z]{2,3}(?:-[a-z]{2,8})*)|black|blue|cyan|green|magenta|red|white|yellow|color ?\d{1,2})\]$/i

/** A place of a digit, the decimal point, or text. */
type Part = { readonly digit: '0' | '#' | '.' } | { readonly text: string }

/**
 * Reads a format of codes, which has several zeros or a separator between digits, such as `0000`, `00-0000`, `"A"000`
 * or `000.0`; `undefined` for any other, such as one of amounts.
 */
function readCodeFormat(tokens: readonly string[]): NumberFormat | undefined {
  const parts = tokens.map(readPart)
  if (!parts.every((part) => part !== undefined)) return undefined
  const points = countPlaces(parts, '.')
  const point = parts.findIndex((part) => 'digit' in part && part.digit === '.')
  const whole = parts.slice(0, point < 0 ? parts.length : point)
  const fraction = point < 0 ? [] : parts.slice(point + 1)
  const isCode = countPlaces(whole, '0') > 1 || (points === 0 && hasSeparator(whole))
  if (points > 1 || !isCode) return undefined
  const show = (stored: string) => {
    const [, digits, decimals = ''] = /^(\d+)(?:\.(\d+))?$/.exec(readNumber(stored)) ?? []
    // A format with too few places shows a rounded number, which is no code.
    if (digits === undefined || decimals.length > countPlaces(fraction)) return undefined
    const shown = `${fillWhole(whole, digits)}${'.'.repeat(points)}${fillFraction(fraction, decimals)}`.trim()
    return shown === digits ? undefined : shown
  }
  return { kind: 'code', hasTime: false, show }
}

/** `undefined` for what no format of codes has. */
function readPart(token: string): Part | undefined {
  if (token === '0' || token === '#' || token === '.') return { digit: token }
  if (token.startsWith('"')) return { text: token.replaceAll('"', '') }
  if (token.startsWith('\\')) return { text: token.slice(1) }
  if (token.startsWith('_')) return { text: ' ' }
  if (token.startsWith('*') || MODIFIER.test(token)) return { text: '' }
  return /^[-/ ()]$/.test(token) ? { text: token } : undefined
}

function countPlaces(parts: readonly Part[], digit?: '0' | '.'): number {
  return parts.filter((part) => 'digit' in part && (digit ?? part.digit) === part.digit).length
}

/** Whether text divides the digits, other than the space or the apostrophe between thousands. */
function hasSeparator(parts: readonly Part[]): boolean {
  const [first, last] = [parts.findIndex(isPlace), parts.findLastIndex(isPlace)]
  return parts.slice(first, last).some((part) => 'text' in part && /[^\s'’]/.test(part.text))
}

function isPlace(part: Part): boolean {
  return 'digit' in part
}

/** Puts digits in their places from the right. */
function fillWhole(parts: readonly Part[], whole: string): string {
  const digits = whole === '0' ? [] : [...whole]
  const first = parts.findIndex(isPlace)
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
function fillPlace(digit: '0' | '#' | '.'): string {
  return digit === '0' ? '0' : ''
}
