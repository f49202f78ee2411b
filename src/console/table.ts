import { isValidElement } from 'preact'
import { formatNumber } from '../foundation/text/format-number.ts'
import { type ComponentChildren, html, type VNode } from './html.ts'

/** What is special about a column. */
interface Special<Row> {
  /** Its class, or that of each cell. */
  readonly style?: string | ((row: Row) => string)
  /** Its name for screen readers only. */
  readonly hidden?: string
  /** Its name on the cards of a narrow screen, if its heading is no text, or if it has the headings of the rows. */
  readonly label?: string
}

/** A column: its heading, what each row has in it, and its class or whatever else is special about it. */
export type Column<Row> = readonly [
  heading: ComponentChildren,
  cell: (row: Row) => ComponentChildren,
  special?: string | Special<Row>,
]

interface TableOptions<Row> {
  readonly caption?: string | undefined
  /** With `cards`, the default, rows become cards on a narrow screen, in which each cell has the name of its column. */
  readonly class?: string
  /** The attributes of a row. */
  readonly row?: (row: Row) => object
}

/**
 * A table that scrolls sideways on a narrow screen, also with the keyboard. Its first column has the headings of the
 * rows. Numbers in its cells are formatted.
 *
 * @param label what the table contains, for screen readers
 * @param rows what the columns show; an element is a row as it is, such as the heading of a group
 */
export function table<Row extends object>(
  label: string,
  rows: readonly (Row | VNode)[],
  columns: readonly Column<Row>[],
  { caption, class: style = 'cards', row: attributesOf }: TableOptions<Row> = {},
): VNode {
  const shown = columns.map(([heading, cell, special = {}]) => {
    const own = typeof special === 'string' ? { style: special } : special
    return { heading, cell, ...own }
  })
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${label}>
    <table class=${style}>
      ${caption !== undefined && html`<caption>${caption}</caption>`}
      <thead><tr>${shown.map(
        ({ heading, hidden, style }) =>
          html`<th scope="col" class=${style === 'number' ? style : undefined}>${hidden === undefined ? heading : html`<span class="visually-hidden">${hidden}</span>`}</th>`,
      )}</tr></thead>
      <tbody>${rows.map((row) =>
        isValidElement(row)
          ? row
          : html`<tr ...${attributesOf?.(row)}>${shown.map(({ heading, label, cell, style }, at) => {
              const value = cell(row)
              const content = typeof value === 'number' ? formatNumber(value) : value
              const own = typeof style === 'function' ? style(row) : style
              // An empty cell heads nothing.
              return at === 0 && content !== ''
                ? html`<th scope="row" class=${own} data-label=${label}>${content}</th>`
                : html`<td class=${own} data-label=${label ?? (heading || undefined)}>${content}</td>`
            })}</tr>`,
      )}</tbody>
    </table>
  </div>`
}
