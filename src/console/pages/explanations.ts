import type * as types from '../../../client/src/types.ts'
import { count } from '../../foundation/text/format-number.ts'
import type { Context, Outcome } from '../context.ts'
import { Field, Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { PostForm } from '../post-form.ts'
import { showTime } from '../time.ts'
import { linkTo, pathOf, RECORDS, recordsLink, type Workbench } from './workbench.ts'

type Explanation = types.Explanation

export interface Explanations {
  readonly explanations?: readonly Explanation[]
}

/** What a person can say of warnings that are right. */
const REASONS = [
  ['Verified', 'The records were checked and are right'],
  ['Agreed', 'The exception was agreed with the agency'],
  ['Later', 'What is missing follows in a later return'],
  ['Other', 'Another reason, in words'],
] as const

const describeReason = (reason: string | undefined): string =>
  REASONS.find(([value]) => value === reason)?.[1] ?? reason ?? ''

/** The explanation of a cause: its own, or that of a code of its findings. */
export function findExplanation(
  explanations: readonly Explanation[],
  { key, codes }: { readonly key: string; readonly codes: readonly string[] },
): Explanation | undefined {
  const named = (name: string) => explanations.find(({ target }) => target === name)
  return named(key) ?? codes.map(named).find((each) => each !== undefined)
}

/** A code or a cause whose findings are warnings. */
export interface Target {
  readonly kind: 'code' | 'cause'
  readonly key: string
}

/** The explanation of warnings, or the form for one. */
export function showExplanation(
  workbench: Workbench,
  { explanations = [] }: Explanations,
  { kind, key }: Target,
): VNode | false {
  const { mayWrite } = workbench
  const known = explanations.find(({ target }) => target === key)
  if (known === undefined && !mayWrite) return false
  const keep = { kind, target: key }
  return html`<details class="explain" open=${known !== undefined || workbench.refused !== undefined}>
    <summary>${known === undefined ? 'Explain' : known.state === 'Reopened' ? 'Explain again' : 'Explained'}</summary>
    ${kind === 'code' && html`<p class="soft">For all warnings of ${key}.</p>`}
    ${
      known !== undefined &&
      html`<p>${describeReason(known.reason)}${known.text !== undefined && html`: ${known.text}`}<br />
        <span class="soft">${known.actor?.name}, ${showTime(known.time)}, for ${count(known.explainedFindings ?? 0, 'finding')}</span></p>
        ${known.reopened !== undefined && html`<p class="problem">${known.reopened}</p>`}`
    }
    ${
      mayWrite &&
      html`<${PostForm} action=${linkTo(workbench, `${RECORDS}/explain`)} keep=${keep}>
        <p>A warning that is right needs no correction. Say why it is right; the explanation becomes part of the receipt.</p>
        <${Select} name="reason" label="Reason" value=${known?.reason} options=${REASONS} />
        <${Field} name="text" label="In words, without naming learners" rows=${3} value=${known?.text} />
        <p><button type="submit">Save the explanation</button></p>
      <//>`
    }
    ${
      mayWrite &&
      known !== undefined &&
      html`<${PostForm} action=${linkTo(workbench, `${RECORDS}/withdraw`)} keep=${keep}><button type="submit" class="quiet">Withdraw it</button><//>`
    }
  </details>`
}

/** The explanations as a list, for the receipt. */
export function showExplanations(explanations: readonly Explanation[]): VNode {
  return html`<ul>${explanations.map(
    ({ codes = [], reason, text, actor, time, findings = 0 }) => html`<li>
      <strong>${codes.join(', ')}</strong>, ${count(findings, 'finding')}: ${describeReason(reason)}${text !== undefined && html`: ${text}`}
      <span class="soft"> ${actor?.name}, ${showTime(time)}</span>
    </li>`,
  )}</ul>`
}

/** What a form about an explanation is about, as the query of its page. */
export const readTarget = (form: URLSearchParams) => {
  const target = form.get('target') ?? ''
  return form.get('kind') === 'cause' ? { cause: target } : { code: target }
}

/** Stores the explanation of a form, or withdraws it. */
export async function changeExplanation(context: Context, method: 'PUT' | 'DELETE'): Promise<Outcome> {
  const form = await readForm(context.request)
  const text = (form.get('text') ?? '').trim()
  const body = { reason: form.get('reason') ?? '', ...(text !== '' && { text }) }
  await context.api.call(pathOf(context, `/explanations/${encodeURIComponent(form.get('target') ?? '')}`), {
    method,
    ...(method === 'PUT' && { body }),
  })
  return { redirect: recordsLink(context, readTarget(form)) }
}
