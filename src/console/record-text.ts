import { detectSeparator, SEPARATORS, splitCells } from '../submissions/csv-records.ts'
import { html, type VNode } from './html.ts'

/** The column names of a header row. */
export function findColumns(header: string): readonly string[] {
  const names = header.replace(/^\ufeff/, '')
  return splitCells(names, detectSeparator(names)) ?? []
}

/** The cells of a record with their columns; `undefined` if the text cannot be parsed. */
function readRecord(
  text: string,
  columns: readonly string[] | undefined,
): readonly (readonly [string, string])[] | undefined {
  if (text.startsWith('{')) {
    try {
      return Object.entries(JSON.parse(text) as object).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ])
    } catch {
      return undefined
    }
  }
  if (columns === undefined) return undefined
  const cells = SEPARATORS.map((separator) => splitCells(text, separator)).find(
    (each) => each?.length === columns.length,
  )
  return cells?.map((cell, index) => [columns[index] ?? '', cell])
}

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
  if (cells === undefined) return html`<pre tabindex="0">${text}</pre>`
  const wrong = new Set(faulty)
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Record"><table class="record">
    <thead><tr>${cells.map(([name]) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody><tr>${cells.map(([name, value]) => html`<td class=${wrong.has(name) ? 'fault' : undefined}>${wrong.has(name) && html`<span class="visually-hidden">Concerned: </span>`}${value}</td>`)}</tr></tbody>
  </table></div>`
}
