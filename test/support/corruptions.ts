import { readFileSync } from 'node:fs'
import { renderRecord, splitRecord } from '../../src/engines/records/index.ts'
import type { Random } from './random.ts'
import { SDR_FILES } from './sdr/file-types.ts'

/** A cell as it was, and as it is now. */
export interface Cell {
  readonly original: string
  now: string
}

/** A file in memory, whose cells remember what they were. */
export interface Table {
  readonly name: string
  readonly header: Cell[]
  /** An inserted row has no original. */
  readonly rows: { cells: Cell[]; readonly isInserted: boolean }[]
  /** Columns that a program wrote in its own form: their values have no slips besides. */
  readonly habits: Set<number>
  separator: string
  lineEnd: string
  encoding: 'utf8' | 'utf8-mark' | 'utf16le' | 'latin1'
}

const SAMPLE = new URL('../../samples/sdr/clean/', import.meta.url)
const LINES = SDR_FILES.map((name) =>
  readFileSync(new URL(`${name}.csv`, SAMPLE), 'utf8')
    .trim()
    .split('\n'),
)

/** A small return without faults: some learners of the sample and everything about them. */
export function makeReturn(random: Random): Table[] {
  const first = random.below(380)
  const learners = LINES[0]?.slice(1 + first, 1 + first + 4 + random.below(12)) ?? []
  const ids = new Set(learners.map((line) => line.split(',')[2]))
  return SDR_FILES.map((name, index) => {
    const [header = '', ...lines] = LINES[index] ?? []
    const of = (line: string) => line.split(',')[name === 'learners' ? 2 : 1] ?? ''
    const kept = name === 'courses' ? lines : lines.filter((line) => ids.has(of(line)))
    const toCells = (line: string) =>
      (splitRecord(line, ',') ?? []).map((cell) => ({ original: cell, now: cell }))
    return {
      name: `${name}.csv`,
      header: toCells(header),
      rows: kept.map((line) => ({ cells: toCells(line), isInserted: false })),
      habits: new Set(),
      separator: ',',
      lineEnd: '\n',
      encoding: 'utf8',
    }
  })
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.below(from.length)] as T
}

export function renderTable({ header, rows, separator, lineEnd, encoding }: Table): Buffer {
  const lines = [header, ...rows.map(({ cells }) => cells)].map((cells) =>
    renderRecord(
      cells.map(({ now }) => now),
      separator,
    ),
  )
  const text = lines.map((line) => line + lineEnd).join('')
  if (encoding === 'utf8-mark') return Buffer.from(`\ufeff${text}`)
  if (encoding === 'utf16le') return Buffer.from(`\ufeff${text}`, 'utf16le')
  // Characters that Latin-1 lacks would be others; such a file is not what this corruption is.
  if (encoding === 'latin1' && !/[^\p{ASCII}\u00a0-\u00ff]/u.test(text)) return Buffer.from(text, 'latin1')
  return Buffer.from(text)
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.;/'

/** What happens to one value. */
const SLIPS: Readonly<Record<string, (value: string, random: Random, other: string) => string>> = {
  spaceBefore: (value) => ` ${value}`,
  spaceAfter: (value) => `${value} `,
  noBreakSpace: (value) => `${value}\u00a0`,
  tab: (value) => `\t${value}`,
  invisible: (value, random) =>
    splice(value, random.below(value.length + 1), 0, pick(random, ['\u200b', '\ufeff', '\u00ad', '\u200e'])),
  replace: (value, random) => splice(value, random.below(value.length), 1, pick(random, [...LETTERS])),
  insert: (value, random) =>
    splice(value, random.below(value.length + 1), 0, pick(random, [...LETTERS, ','])),
  remove: (value, random) => splice(value, random.below(value.length), 1, ''),
  swap: (value, random) => {
    const at = random.below(value.length)
    return value.slice(0, at) + (value[at + 1] ?? '') + (value[at] ?? '') + value.slice(at + 2)
  },
  lower: (value) => value.toLowerCase(),
  upper: (value) => value.toUpperCase(),
  swapCase: (value) => (value === value.toUpperCase() ? value.toLowerCase() : value.toUpperCase()),
  neighbour: (_value, _random, other) => other,
  blank: () => '',
  zeros: (value) => value.replace(/^0+(?=.)/, ''),
  comma: (value) => value.replace('.', ','),
  junk: (_value, random) =>
    pick(random, ['x', '0', '1', '9', '1,5', '1,234', '17/02/2025', '05/06/2025', 'n/a', '=1+1']),
}

/** What happens to all values of a column, as programs do it. */
const HABITS: Readonly<Record<string, (value: string) => string>> = {
  decimalCommas: (value) => (/^-?\d+\.\d+$/.test(value) ? value.replace('.', ',') : value),
  shortCommas: (value) => (/^-?\d+\.\d+$/.test(value) ? String(Number(value)).replace('.', ',') : value),
  thousands: (value) => (/^\d+\.\d+$/.test(value) ? Number(value).toLocaleString('en-NZ') : value),
  dayFirst: (value) => value.replace(/^(\d{4})-(\d\d)-(\d\d)$/, '$3/$2/$1'),
  dayFirstShort: (value) => value.replace(/^(\d{4})-0?(\d+)-0?(\d+)$/, '$3/$2/$1'),
  spreadsheet: (value) => value.replace(/^(\d{4})-(\d\d)-0?(\d+)$/, '$3/$2/$1'),
  dots: (value) => value.replace(/^(\d{4})-(\d\d)-(\d\d)$/, '$3.$2.$1'),
  monthFirst: (value) => value.replace(/^(\d{4})-(\d\d)-(\d\d)$/, '$2/$3/$1'),
  /** A program with another order has read the dates that it could. */
  halfRead: (value) =>
    value.replace(/^(\d{4})-(\d\d)-(\d\d)$/, (all, year, month, day) =>
      Number(day) > 12 ? `${day}/${month}/${year}` : all,
    ),
  lostZeros: (value) => (/^0+\d+$/.test(value) ? String(Number(value)) : value),
  lowerCase: (value) => value.toLowerCase(),
  upperCase: (value) => value.toUpperCase(),
  spaces: (value) => (value === '' ? value : ` ${value}`),
}

const NAMINGS: readonly ((name: string, random: Random) => string)[] = [
  (name) => name.toLowerCase(),
  (name) => name.toUpperCase(),
  (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  (name) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  (name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`),
  (name, random) => splice(name, random.below(name.length), 1, ''),
  (name, random) =>
    splice(name, random.below(name.length), 1, pick(random, [...'abcdefghijklmnopqrstuvwxyz0123456789'])),
  (name) => name.replace('Start', 'End'),
  (name) => name.replace(/\d+$/, (digits) => String(Number(digits))),
  () => 'notes',
]

/** Changes one thing in a return, which stays as it was elsewhere. Cells that have changed already are left alone. */
export function corrupt(tables: readonly Table[], random: Random): string {
  const filled = tables.filter(({ rows }) => rows.length > 0)
  const table = pick(random, filled)
  const column = random.below(table.header.length)
  const cells = table.rows
    .filter(({ isInserted }) => !isInserted)
    .flatMap(({ cells: all }) => all[column] ?? [])
  const free = cells.filter((cell) => cell.now === cell.original && cell.now !== '')
  const kind = random.below(21)
  if (kind < 15 && table.habits.has(column)) return 'nothing'
  if (kind < 11) {
    const name = pick(random, Object.keys(SLIPS))
    const cell = free.length === 0 ? undefined : pick(random, free)
    if (cell !== undefined) cell.now = SLIPS[name]?.(cell.now, random, pick(random, cells).original) ?? ''
    return name
  }
  if (kind < 15) {
    const name = pick(random, Object.keys(HABITS))
    if (cells.some(({ now, original }) => now !== original)) return 'nothing'
    table.habits.add(column)
    for (const cell of free) cell.now = HABITS[name]?.(cell.now) ?? ''
    return name
  }
  if (kind === 15) {
    const header = table.header[column]
    if (header !== undefined && header.now === header.original)
      header.now = pick(random, NAMINGS)(header.now, random)
    return 'naming'
  }
  if (kind === 16) {
    const one = table.header[column]
    const other = pick(random, table.header)
    // The name of a misspelt column that is swapped as well can only be repaired to the name that was misspelt.
    if (one !== undefined && one.now === one.original && other.now === other.original)
      [one.now, other.now] = [other.now, one.now]
    return 'swappedColumns'
  }
  if (kind === 17) {
    const blank = pick(random, ['', '', ' '])
    const inserted = Array.from({ length: table.header.length + random.below(2) }, () => ({
      original: '',
      now: blank,
    }))
    table.rows.splice(random.below(table.rows.length + 1), 0, { cells: inserted, isInserted: true })
    return 'emptyRow'
  }
  if (kind === 20) {
    const isTotal = random.below(2) === 0
    const inserted = table.header.map(({ now }, at) => {
      const total =
        at === 0
          ? pick(random, ['Total', 'TOTALS', 'Grand total:', ' Sub-total'])
          : pick(random, ['', '', '', '1,234.50', '12'])
      const text = isTotal ? total : now
      return { original: text.trim(), now: text }
    })
    table.rows.splice(random.below(table.rows.length + 1), 0, { cells: inserted, isInserted: true })
    return isTotal ? 'totals' : 'repeatedHeader'
  }
  if (kind === 18) {
    table.separator = pick(random, [';', '\t'])
    return 'separator'
  }
  table.encoding = pick(random, ['utf8-mark', 'utf16le', 'latin1'] as const)
  table.lineEnd = pick(random, ['\n', '\r\n'])
  return 'encoding'
}

function splice(text: string, at: number, removed: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at + removed)
}
