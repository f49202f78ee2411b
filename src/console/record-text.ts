import { parse } from 'csv-parse/sync'
import { html, type VNode } from './html.ts'

/** The column names of a header row. */
export function findColumns(header: string): readonly string[] {
  const separator = [',', ';', '\t'].find((each) => header.includes(each)) ?? ','
  return readCells(header, separator) ?? []
}

function readCells(line: string, delimiter: string): string[] | undefined {
  try {
    const [cells] = parse(line, { delimiter, relax_column_count: true, bom: true }) as string[][]
    return cells
  } catch {
    return undefined
  }
}

/** The cells of a record by their columns, or the text as it is where it cannot be told apart. */
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
  const separator = [',', ';', '\t'].find((each) => readCells(text, each)?.length === columns.length)
  const cells = separator === undefined ? undefined : readCells(text, separator)
  return cells?.map((cell, index) => [columns[index] ?? '', cell])
}

/**
 * A record as people read it: each value under the name of its column, the faulty ones marked.
 *
 * @param faulty columns that the finding concerns
 */
export function showRecord(
  text: string,
  columns: readonly string[] | undefined,
  faulty: readonly string[],
): VNode {
  const cells = readRecord(text, columns)
  if (cells === undefined) return html`<pre tabindex="0">${text}</pre>`
  const wrong = new Set(faulty)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Record"><table class="record">
    <thead><tr>${cells.map(([name]) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody><tr>${cells.map(([name, value]) => html`<td class=${wrong.has(name) ? 'fault' : undefined}>${wrong.has(name) && html`<span class="visually-hidden">Concerned: </span>`}${value}</td>`)}</tr></tbody>
  </table></div>`
}
