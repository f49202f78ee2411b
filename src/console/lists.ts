import { count, formatNumber } from '../foundation/text/format-number.ts'
import type { Call } from './api.ts'
import type { Context } from './context.ts'
import { FormFault } from './faults.ts'
import { html, type VNode } from './html.ts'
import { linkHere } from './links.ts'

/** A page of a list of the API. */
interface Page<Item> {
  readonly results: readonly Item[]
  readonly totalCount: number
  /** The links to the other pages. */
  readonly pager: VNode | false
}

/**
 * The number of the page that a query names; the first without one.
 *
 * @throws {FormFault}
 */
export function readPage(query: URLSearchParams): number {
  const given = query.get('page') ?? '1'
  if (/^\d{1,7}$/.test(given)) return Number(given)
  const shown = JSON.stringify(given.slice(0, 20).toWellFormed())
  throw new FormFault(`The page number must be a whole number from 1, not ${shown}.`)
}

/**
 * The page of a list that the URL names.
 *
 * @param size the items of a page
 * @throws {FormFault | ApiProblem}
 */
export async function readList<Item, Body = unknown>(
  context: Context,
  path: string,
  size: number,
  { query, ...call }: Call = {},
): Promise<Body & Page<Item>> {
  const page = readPage(context.query)
  const read = await context.api.call<Body & Page<Item>>(path, {
    ...call,
    query: { ...query, page, pageSize: size },
  })
  return { ...read, pager: showPager(context, Math.ceil(read.totalCount / size)) }
}

/** Links to the neighbouring pages of a list; nothing if it has one page. A page past the last one is said to be so. */
export function showPager(
  context: Context,
  pages: number,
  page: number = readPage(context.query),
): VNode | false {
  const end = Math.max(1, pages)
  const to = (number: number) => linkHere(context, { page: number })
  if (page > end)
    return html`<p>There is no page ${formatNumber(page)}: the last one is <a href=${to(end)}>${formatNumber(end)}</a>.</p>`
  if (end === 1) return false
  return html`<nav class="pager" aria-label="Pages">
    ${page > 1 && html`<a rel="prev" href=${to(page - 1)}>Previous</a>`}
    <span>Page ${formatNumber(page)} of ${formatNumber(pages)}</span>
    ${page < pages && html`<a rel="next" href=${to(page + 1)}>Next</a> <a href=${to(pages)}>Last</a>`}
  </nav>`
}

/** The next page of a list that has no numbers of pages. */
export function showNext(context: Context, parameter: string, value: string | undefined): VNode | false {
  return (
    value !== undefined &&
    html`<nav class="pager" aria-label="Pages"><a rel="next" href=${linkHere(context, { [parameter]: value })}>Next page</a></nav>`
  )
}

/** The first items of a long list and a link to all, or all of them if the URL has `all`. */
export function cut<Item>(
  context: Context,
  items: readonly Item[],
  most: number,
  noun: string,
): { readonly shown: readonly Item[]; readonly more: VNode | false } {
  const rest = context.query.has('all') ? 0 : items.length - most
  if (rest <= 0) return { shown: items, more: false }
  const more = html`<p><a href=${linkHere(context, { all: 'yes' })}>Show ${count(rest, `more ${noun}`)}</a></p>`
  return { shown: items.slice(0, most), more }
}

/** The parts of a list that fit into one request each. */
export function* inBatches<Item>(items: readonly Item[], most: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += most) yield items.slice(start, start + most)
}
