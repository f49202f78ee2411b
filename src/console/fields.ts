import { html, type VNode } from './html.ts'

interface SelectProperties {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly options: readonly string[]
  /** The choice of all of them; absent if one must be chosen. */
  readonly all?: string
}

/** A list of choices with its label. */
export function Select({ name, label, value, options, all }: SelectProperties): VNode {
  return html`<label>${label}<select name=${name}>
    ${all !== undefined && html`<option value="">${all}</option>`}
    ${options.map((option) => html`<option selected=${option === value}>${option}</option>`)}
  </select></label>`
}
