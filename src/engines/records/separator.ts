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
  const bare = firstLine.replaceAll(/"[^"]*"/g, '')
  const scores = SEPARATORS.map((separator) => ({
    separator,
    known: firstLine.split(separator).filter((cell) => names.has(trimName(cell).toLowerCase())).length,
    count: bare.split(separator).length,
  }))
  const best = scores.reduce((one, other) =>
    other.known > one.known || (other.known === one.known && other.count > one.count) ? other : one,
  )
  return best.separator
}

/** The name of a column without the white space and quotes around it. */
export function trimName(cell: string): string {
  return cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()
}
