import { isNoValueWord } from '../../foundation/text/no-value-word.ts'
import { quote } from '../../foundation/text/quote.ts'
import { EMPTY, REPEATED_HEADER, type RecordFault, TOTALS } from './record-fault.ts'

/** Why a row is no record; `undefined` if it is one. */
export function describeNoRecord(
  cells: readonly string[],
  count: number,
  header: readonly string[],
): RecordFault | undefined {
  const [first = ''] = cells
  if (isBlank(first)) return isEmpty(cells, count) ? EMPTY : undefined
  // A second file that was joined to the first one may begin with a byte order mark.
  const name = first.startsWith('\ufeff') ? first.slice(1) : first
  if (name === header[0])
    return count === header.length && header.every((each, at) => at === 0 || cells[at] === each)
      ? REPEATED_HEADER
      : undefined
  // Spreadsheets have them below their records.
  if (first.length <= LONGEST_TOTAL && TOTAL.test(first.trim()))
    return cells.slice(0, count).filter(isBlank).length * 2 >= count ? TOTALS : undefined
  return undefined
}

const TOTAL = /^(?:grand |sub-?)?totals?\s*:?$/i
const LONGEST_TOTAL = 16

function isEmpty(cells: readonly string[], count: number): boolean {
  for (let at = 1; at < count; at++) if (!isBlank(cells[at])) return false
  return true
}

function isBlank(cell: string | undefined): boolean {
  return cell === undefined || cell === '' || cell.trim() === ''
}

/** Whether a trimmed cell is an error of a formula, which a spreadsheet program wrote in place of its result. */
export function isSpreadsheetError(text: string): boolean {
  return text.startsWith('#') && /^#(?:N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!)$/.test(text)
}

/** Why a row that can be read is probably none that was meant, as a full sentence; `undefined` if nothing is odd. */
export function describeDoubt(cells: readonly string[], header: readonly string[]): string | undefined {
  const none = header.length > 1 ? describeNoRecord(cells, cells.length, header) : undefined
  if (none !== undefined) return none.message
  const at = cells.findIndex((cell) => isSpreadsheetError(cell.trim()))
  if (at === -1) return undefined
  return `The column ${quote(header[at] ?? '')} has ${cells[at]?.trim()}, an error of a spreadsheet.`
}

/** Which cell of a row, given by its items, has a word or a sign for no value, as a full sentence. */
export function describeNoValue(
  cells: readonly (readonly string[])[],
  header: readonly string[],
): string | undefined {
  for (const [at, items] of cells.entries()) {
    const word = items.map((item) => item.trim()).find(isNoValueWord)
    if (word === undefined) continue
    return `The column ${quote(header[at] ?? '')} has ${word}, which often stands for no value. It is stored as text, unless a mapping has it under noValue.`
  }
  return undefined
}
