import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { TOKEN_FIELD } from './form-token.ts'
import { type ComponentChildren, html, type VNode } from './html.ts'

/** The token of the session that a page is for; `undefined` before sign-in. */
export const FormToken = createContext<string | undefined>(undefined)

interface Properties {
  readonly action: string
  readonly children?: ComponentChildren
}

/** Every form that changes something: its first field is the token of the session. */
export function PostForm({ children, ...attributes }: Properties): VNode {
  const token = useContext(FormToken)
  return html`<form method="post" ...${attributes}>
    ${token !== undefined && html`<input type="hidden" name=${TOKEN_FIELD} value=${token} />`}
    ${children}
  </form>`
}
