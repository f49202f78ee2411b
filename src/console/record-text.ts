import { detectSeparator, parseRecord, SEPARATORS, splitRecord } from '../engines/records/index.ts'
import { html, type VNode } from './html.ts'
import { Table } from './table.ts'

/** The column names of a header row. */
export function findColumns(header: string): readonly string[] {
  const names = header.replace(/^\ufeff/, '')
  return splitRecord(names, detectSeparator(names)) ?? []
}

/** The cells of a record with their columns; `undefined` if the text cannot be parsed. */
function readRecord(
  text: string,
  columns: readonly string[] | undefined,
): readonly (readonly [string, string])[] | undefined {
  if (text.startsWith('{')) {
    const { record } = parseRecord(text)
    return (
      record &&
      Object.entries(record).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ])
    )
  }
  if (columns === undefined) return undefined
  const cells = SEPARATORS.map((separator) => splitRecord(text, separator)).find(
    (each) => each?.length === columns.length,
  )
  return cells?.map((cell, index) => [columns[index] ?? '', cell])
}

/** The most cells of a record in a table; a longer one is shown as text. */
const MOST_CELLS = 500

/**
 * Displays a record: each value under the name of its column, with the faulty ones marked.
 *
 * @param faulty the columns that the finding concerns
 */
export function showRecord(
  text: string,
  columns: readonly string[] | undefined,
  faulty: readonly string[],
): VNode {
  const cells = readRecord(text, columns)
  if (cells === undefined || cells.length > MOST_CELLS) return html`<pre tabindex="0">${text}</pre>`
  const wrong = new Set(faulty)
  const concerned = html`<span class="visually-hidden">Concerned: </span>`
  return html`<${Table} label="Record" class="record" columns=${cells.map(([name]) => name)}>
    <tr>${cells.map(([name, value]) =>
      wrong.has(name) ? html`<td class="fault">${concerned}${value}</td>` : html`<td>${value}</td>`,
    )}</tr>
  <//>`
}
