import { lookUp } from '../../foundation/look-up.ts'

/** Why a row cannot be read as a record, or is none. */
export interface RecordFault {
  /** What decides about it; its words decide nothing. */
  readonly code: string
  /** A full sentence. */
  readonly message: string
}

/** What is said of all rows with a fault. */
interface FaultKind {
  /** The end of a sentence about several of them. */
  readonly some: string
  readonly fix?: string
  /** What a command advises that stops at the first of them. */
  readonly advice?: string
  /** Whether the row is no record at all. */
  readonly isNone?: true
}

/** What separates the values of a record, in the order of `SEPARATORS`. */
export const SEPARATED = ['commas', 'semicolons', 'tabs', 'vertical bars'] as const

const KINDS = lookUp<FaultKind>({
  empty: { some: 'records are empty.', fix: 'Delete the empty rows.', isNone: true },
  header: { some: 'rows repeat the header.', fix: 'Delete the row.', isNone: true },
  totals: { some: 'rows have totals, and are no records.', fix: 'Delete the row.', isNone: true },
  quoted: {
    some: 'records are one value each, because they are quoted as a whole.',
    fix: 'Export the file again, or remove the quotes around the record.',
  },
  ...Object.fromEntries(
    SEPARATED.map((name) => [
      name,
      {
        some: `records are separated by ${name}, but the header is not.`,
        fix: `Export the file again, or replace the ${name} with the separator of the header.`,
      },
    ]),
  ),
  width: { some: 'records have more or fewer values than the header has columns.' },
  nul: { some: 'records contain the character NUL (U+0000).' },
  'not-utf8': {
    some: 'records are not valid UTF-8.',
    advice: 'Save the file as UTF-8, which Excel calls "CSV UTF-8"',
  },
  'too-long': { some: 'records are too long.', advice: 'A closing quote may be missing' },
  'open-quote': { some: 'records have a quote that is not closed.' },
  'text-after-quote': { some: 'records have text behind a closing quote.' },
  'stray-quote': {
    some: 'records have a quote in a value without quotes around it.',
    advice: 'Quote the whole value, and double the quotes within',
  },
  json: { some: 'lines are not JSON objects.' },
})

/** What is said of all rows with this fault. */
export function kindOf({ code }: RecordFault): FaultKind {
  return KINDS[code] ?? { some: 'records cannot be read.' }
}

export const EMPTY: RecordFault = { code: 'empty', message: 'The record is empty.' }
export const REPEATED_HEADER: RecordFault = { code: 'header', message: 'The row repeats the header.' }
export const TOTALS: RecordFault = { code: 'totals', message: 'The row has totals, and is no record.' }
export const QUOTED: RecordFault = {
  code: 'quoted',
  message: 'The record is one value, because it is quoted as a whole.',
}
/** By their separators, in the order of `SEPARATORS`. */
export const OTHER_SEPARATORS: readonly RecordFault[] = SEPARATED.map((code) => {
  return { code, message: `The record is separated by ${code}, but the header is not.` }
})
export const NUL: RecordFault = { code: 'nul', message: 'The record contains the character NUL (U+0000).' }
export const NOT_UTF8: RecordFault = { code: 'not-utf8', message: 'The record is not valid UTF-8.' }
export const TEXT_AFTER_QUOTE: RecordFault = {
  code: 'text-after-quote',
  message: 'A closing quote is followed by other text.',
}
export const STRAY_QUOTE: RecordFault = {
  code: 'stray-quote',
  message: 'A value without quotes around it contains a quote.',
}

/**
 * A fault of a record as the message of a command, which has no full stop.
 *
 * @param isPlaced whether the fault names its column, which is then the subject of the message
 */
export function advise(fault: RecordFault, isPlaced = false): string {
  const { advice } = kindOf(fault)
  const message = advice === undefined ? fault.message.slice(0, -1) : `${fault.message} ${advice}`
  return isPlaced ? message.replace(/^The record /, '') : message
}
