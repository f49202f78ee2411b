import { isValidElement } from 'preact'
import { formatNumber } from '../foundation/text/format-number.ts'
import { type ComponentChildren, html, type VNode } from './html.ts'
import { type Here, linkHere } from './links.ts'

/** What is special about a column. */
interface Special<Row> {
  /** Its class, or that of each cell. */
  readonly style?: string | ((row: Row) => string)
  /** Its name for screen readers only. */
  readonly hidden?: string
  /** Its name on the cards of a narrow screen, if its heading is no text, or if it has the headings of the rows. */
  readonly label?: string
  /** What its heading, a text, orders the rows by; numbers need none. */
  readonly sort?: (row: Row) => string | number | undefined
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
  /** What is said instead of a table without rows. */
  readonly empty?: ComponentChildren
  /** The attributes of a row. */
  readonly row?: (row: Row) => object
  /** The page, if the rows are all that there are and in the order of its URL: its headings then lead to other orders. */
  readonly sortedOn?: Here | undefined
}

/** A column with everything that is special about it. */
function describeColumn<Row>([heading, cell, special = {}]: Column<Row>) {
  const own = typeof special === 'string' ? { style: special } : special
  const ofNumber = (row: Row) => {
    const value = cell(row)
    return typeof value === 'number' ? value : undefined
  }
  const sort = own.sort ?? (own.style === 'number' ? ofNumber : undefined)
  return { heading, cell, ...own, sort, parameter: String(heading).toLowerCase().replaceAll(' ', '-') }
}

/** Where a table is on its page, so that a reader who orders it stays there. */
const PLACE = 'rows'

const collator = new Intl.Collator('en-NZ', { numeric: true })

/**
 * The rows in the order of the column that the URL names, such as `?sort=return`, or `?sort=-errors` from the last to the
 * first. Those without a value are last. If it names no such column, or they are not all, they are as they were.
 */
export function sortRows<Row>(
  sortedOn: Here | undefined,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): readonly Row[] {
  const given = sortedOn?.query.get('sort') ?? ''
  const sort = columns
    .map(describeColumn)
    .find(({ parameter }) => parameter === given.replace(/^-/, ''))?.sort
  if (sort === undefined) return rows
  const direction = given.startsWith('-') ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [sort(one), sort(other)]
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
    const order = typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(`${a}`, `${b}`)
    return direction * order
  })
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
  { caption, class: style = 'cards', empty, row: attributesOf, sortedOn }: TableOptions<Row> = {},
): VNode {
  if (rows.length === 0 && empty !== undefined) return html`<p>${empty}</p>`
  const shown = columns.map(describeColumn)
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${label}>
    <table class=${style} id=${sortedOn && PLACE}>
      ${caption !== undefined && html`<caption>${caption}</caption>`}
      <thead><tr>${shown.map((column) => showHeading(column, rows.length > 1 ? sortedOn : undefined))}</tr></thead>
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

/** The heading of a column; a link to the rows in its order, if they can have another. Numbers begin with the largest. */
function showHeading<Row>(
  { heading, hidden, style, sort, parameter }: ReturnType<typeof describeColumn<Row>>,
  sortedOn: Here | undefined,
): VNode {
  const own = style === 'number' ? style : undefined
  if (hidden !== undefined) return html`<th scope="col"><span class="visually-hidden">${hidden}</span></th>`
  if (sortedOn === undefined || sort === undefined) return html`<th scope="col" class=${own}>${heading}</th>`
  const given = sortedOn.query.get('sort')
  const [rising, falling] = [given === parameter, given === `-${parameter}`]
  const next = rising || (own === 'number' && !falling) ? `-${parameter}` : parameter
  return html`<th scope="col" class=${own} aria-sort=${rising ? 'ascending' : falling ? 'descending' : undefined}>
    <a class="sort" href=${`${linkHere(sortedOn, { sort: next, page: undefined })}#${PLACE}`}>${heading}</a>
  </th>`
}
