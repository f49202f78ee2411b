import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { TOKEN_FIELD } from './form-token.ts'
import { type ComponentChildren, html, type VNode } from './html.ts'
import type { Query } from './links.ts'

/** The token of the session that a page is for; `undefined` before sign-in. */
export const FormToken = createContext<string | undefined>(undefined)

interface Properties {
  readonly action: string
  /** What it sends besides its fields; what is undefined or empty is left out. */
  readonly keep?: Query
  readonly children?: ComponentChildren
}

/** Every form that changes something: its first field is the token of the session. */
export function PostForm({ children, keep, ...attributes }: Properties): VNode {
  const token = useContext(FormToken)
  return html`<form method="post" ...${attributes}>
    ${hide({ [TOKEN_FIELD]: token, ...keep })}
    ${children}
  </form>`
}

/**
 * A form that narrows what its page lists: at once with scripts, by its button without them.
 *
 * @param clear where the page has no filters
 */
export function Filters({ children, keep, clear, action }: Properties & { readonly clear?: string }): VNode {
  return html`<form class="row" method="get" action=${action} data-live>
    ${hide(keep)}
    ${children}
    <button type="submit">Show</button>
    ${clear !== undefined && html`<a href=${clear}>Clear</a>`}
  </form>`
}

const hide = (fields: Query = {}): (VNode | false)[] =>
  Object.entries(fields).map(
    ([name, value]) =>
      value !== undefined && value !== '' && html`<input type="hidden" name=${name} value=${value} />`,
  )
