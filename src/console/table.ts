import { cloneElement, isValidElement, toChildArray } from 'preact'
import { formatNumber } from '../foundation/text/format-number.ts'
import { type ComponentChildren, html, type VNode } from './html.ts'

/** The heading of a column: its name, or the name with what is special about it. */
type Column =
  | string
  | {
      readonly name: ComponentChildren
      readonly number?: boolean
      readonly hidden?: boolean
      readonly style?: string
    }

interface TableProperties {
  /** What the table contains, for screen readers. */
  readonly label: string
  readonly columns: readonly Column[]
  readonly caption?: ComponentChildren
  /** Whether the table is a landmark of its page. */
  readonly region?: boolean
  readonly class?: string
  /** The rows. */
  readonly children?: ComponentChildren
}

/**
 * A table that scrolls sideways on a narrow screen, also with the keyboard. With the class `cards`, its rows become
 * cards there, in which each cell has the name of its column.
 */
export function Table({
  label,
  columns,
  caption,
  region = false,
  children,
  ...attributes
}: TableProperties): VNode {
  return html`<div class="scroll" tabindex="0" role=${region ? 'region' : 'group'} aria-label=${label}>
    <table ...${attributes}>
      ${caption !== undefined && html`<caption>${caption}</caption>`}
      <thead><tr>${columns.map(showColumn)}</tr></thead>
      <tbody>${/\bcards\b/.test(attributes.class ?? '') ? nameCells(children, columns) : children}</tbody>
    </table>
  </div>`
}

function nameCells(rows: ComponentChildren, columns: readonly Column[]): ComponentChildren {
  return toChildArray(rows).map((row) => {
    if (!isValidElement(row)) return row
    const { children } = row.props as { children?: ComponentChildren }
    const cells = toChildArray(children).filter((cell) => isValidElement(cell))
    const named = cells.map((cell, index) => {
      const { name, hidden } = Object(columns[index])
      const label = typeof columns[index] === 'string' ? columns[index] : hidden === true ? undefined : name
      if (cell.type !== 'td' || typeof label !== 'string') return cell
      return cloneElement(cell, { 'data-label': label, ...cell.props } as object)
    })
    return cloneElement(row, {}, named)
  })
}

function showColumn(column: Column): VNode {
  const {
    name,
    number = false,
    hidden = false,
    style,
  } = typeof column === 'string' ? { name: column } : column
  const text = hidden ? html`<span class="visually-hidden">${name}</span>` : name
  return html`<th scope="col" class=${number ? 'number' : style}>${text}</th>`
}

interface PagerProperties {
  readonly page: number
  readonly pages: number
  /** The URL of a page. */
  readonly to: (page: number) => string
  /** Whether the last page can be reached at once. */
  readonly last?: boolean
}

/** Links to the neighbouring pages of a list; nothing if it has one page. A page past the last one is said to be so. */
export function Pager({ page, pages, to, last = false }: PagerProperties): VNode | null {
  const end = Math.max(1, pages)
  if (page > end)
    return html`<p>There is no page ${formatNumber(page)}: the last one is <a href=${to(end)}>${formatNumber(end)}</a>.</p>`
  if (end === 1) return null
  return html`<nav class="pager" aria-label="Pages">
    ${page > 1 && html`<a rel="prev" href=${to(page - 1)}>Previous</a>`}
    <span>Page ${formatNumber(page)} of ${formatNumber(pages)}</span>
    ${page < pages && html`<a rel="next" href=${to(page + 1)}>Next</a>`}
    ${last && page < pages && html`<a href=${to(pages)}>Last</a>`}
  </nav>`
}
