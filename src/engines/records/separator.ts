/** The separators that a file may have without naming it. */
export const SEPARATORS = [',', ';', '\t', '|']

/**
 * The separator of a table: the one with which its first line has the most known columns, and then the one that is most
 * frequent outside of quotes; a comma if there is none.
 *
 * @param known the names of columns that the table may have
 */
export function detectSeparator(firstLine: string, known: readonly string[] = []): string {
  const names = new Set(known.map((name) => name.toLowerCase()))
  const scores = SEPARATORS.map((separator) => {
    const cells = splitHeader(firstLine, separator)
    return {
      separator,
      known: cells.filter((cell) => names.has(trimName(cell).toLowerCase())).length,
      count: cells.length,
    }
  })
  const best = scores.reduce((one, other) =>
    other.known > one.known || (other.known === one.known && other.count > one.count) ? other : one,
  )
  return best.separator
}

/** Whether a line is `sep=;`, with which spreadsheet programs name the separator before the header. */
export function namesSeparator(line: string): boolean {
  return /^sep=.$/i.test(line)
}

/** The cells of a header, whose quoted names may contain the separator. */
function splitHeader(line: string, separator: string): readonly string[] {
  const cells: string[] = []
  /** The parts of a name that a quote has begun and none has ended yet. */
  let open: string[] = []
  for (const part of line.split(separator)) {
    const hasOddQuotes = part.split('"').length % 2 === 0
    const isOpen = open.length === 0 ? hasOddQuotes && part.trimStart().startsWith('"') : !hasOddQuotes
    open.push(part)
    if (isOpen) continue
    cells.push(open.join(separator))
    open = []
  }
  // A quote that nothing closes is a character of its name.
  return [...cells, ...open]
}

/** The name of a column without the white space and quotes around it. */
export function trimName(cell: string): string {
  return cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()
}
