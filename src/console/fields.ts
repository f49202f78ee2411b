import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Fault } from './faults.ts'
import { html, type VNode } from './html.ts'

/** A form that was refused: what was typed, and what is wrong with it. */
export interface Refused {
  readonly values: URLSearchParams
  readonly fault: Omit<Fault, 'status'>
}

/** The form that the page shows again; `undefined` on all other pages. */
export const RefusedForm = createContext<Refused | undefined>(undefined)

/** The id of the sentence at the top of the page that says what is wrong. */
const FAULT = 'fault'

/** What is wrong with the form, at the top of its page. */
export function FaultNotice(): VNode | false {
  const refused = useContext(RefusedForm)
  return (
    refused !== undefined && html`<p class="problem" id=${FAULT} role="alert">${refused.fault.message}</p>`
  )
}

interface FieldProperties {
  readonly name: string
  readonly label: string
  readonly value?: string | undefined
  /** The rows of a field for text of several lines. */
  readonly rows?: number
  readonly class?: string
  readonly [attribute: string]: unknown
}

/** A field with its label. In a refused form it keeps what was typed, and says what is wrong with it. */
export function Field({
  name,
  label,
  value = '',
  rows,
  class: style,
  ...attributes
}: FieldProperties): VNode {
  const { values, fault } = useContext(RefusedForm) ?? {}
  const isWrong = fault?.field === name
  const typed = /^(?:password|file)$/.test(String(attributes.type)) ? '' : (values?.get(name) ?? value)
  const shared = {
    name,
    ...attributes,
    ...(isWrong && { 'aria-invalid': 'true', 'aria-describedby': FAULT }),
  }
  return html`<label class=${style}>${label}
    ${isWrong && html`<span class="error" aria-hidden="true">${fault.message}</span>`}
    ${rows === undefined ? html`<input ...${shared} value=${typed} />` : html`<textarea ...${shared} rows=${rows}>${typed}</textarea>`}
  </label>`
}

interface SelectProperties {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** The choices, or each with what it is called. */
  readonly options: readonly (string | readonly [value: string, label: string])[]
  /** The choice of all of them; absent if one must be chosen. */
  readonly all?: string
}

/** A list of choices with its label. */
export function Select({ name, label, value, options, all }: SelectProperties): VNode {
  const chosen = useContext(RefusedForm)?.values.get(name) ?? value
  const pairs = [...(all === undefined ? [] : [['', all] as const]), ...options.map((each) => [each].flat())]
  return html`<label>${label}<select name=${name}>
    ${pairs.map(([option, text = option]) => html`<option value=${option} selected=${option === (chosen ?? '')}>${text}</option>`)}
  </select></label>`
}
