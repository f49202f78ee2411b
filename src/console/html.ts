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

/** Names with what they stand for; those without a value are left out. */
export const pairs = (facts: readonly (readonly [name: string, value: ComponentChildren])[]): VNode =>
  html`<dl class="pairs">${facts.map(([name, value]) => value !== undefined && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`

/** How severe a finding is. */
export const tag = (severity: string): VNode =>
  html`<span class=${`tag ${severity.toLowerCase()}`}>${severity}</span>`
