import htm from 'htm'
import { type ComponentChildren, h, type VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'

type Template = (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** Templates that escape their values: text is never parsed as markup. */
export const html: Template = (htm as unknown as { bind(create: typeof h): Template }).bind(h)

export type { ComponentChildren, VNode }

export function renderDocument(page: VNode): string {
  return `<!doctype html>\n${renderToString(page)}\n`
}

/** Text in te reo Māori, marked for screen readers and fonts. */
export const maori = (text: string): VNode => html`<span lang="mi">${text}</span>`

/** A link: its URL, and its words. */
type Link = readonly [href: string, words: ComponentChildren]

/** Links to the pages above a page, the highest first. */
export const crumbs = (...above: readonly Link[]): VNode =>
  html`<nav class="crumbs" aria-label="Breadcrumb">${above.map(
    ([href, words], at) => html`${at > 0 && ' › '}<a href=${href}>${words}</a>`,
  )}</nav>`

/** Links to the ways to look at one list, of which one is shown. */
export const views = (label: string, links: readonly Link[], current: string): VNode =>
  html`<nav aria-label=${label} class="views"><ul>${links.map(
    ([href, words]) =>
      html`<li><a href=${href} aria-current=${href === current ? 'page' : undefined}>${words}</a></li>`,
  )}</ul></nav>`

/** Names with what they stand for; those without a value are left out. */
export const pairs = (facts: readonly (readonly [name: string, value: ComponentChildren])[]): VNode =>
  html`<dl class="pairs">${facts.map(([name, value]) => value !== undefined && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`

/** How severe a finding is. */
export const tag = (severity: string): VNode =>
  html`<span class=${`tag ${severity.toLowerCase()}`}>${severity}</span>`
