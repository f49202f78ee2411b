import { stringify } from 'csv-stringify/sync'
import type * as types from '../../../client/src/types.ts'
import { whileConnected } from '../../api/request/while-connected.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import type { Api, Having } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { readForm } from '../forms.ts'
import { type ComponentChildren, html, type VNode } from '../html.ts'
import { occupationLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Table } from '../table.ts'
import { CONFIRM_SCOPE, confirm, DecisionRefused, showDecided } from './confirmed.ts'

/** A text coded by `/v1/codings`. */
type Coding = Having<types.Coding, 'certainty' | 'candidates'>

interface Coded {
  readonly title: string
  readonly coding: Coding
  /** The code chosen by the user, or one with enough certainty. */
  readonly chosen: string
  /** Another code, typed by the user; it overrides the choice. */
  readonly other: string
  readonly reviewed: boolean
}

/** The most texts per request. */
const BATCH = 300
/** The most titles per list. */
const MOST = 3_000

/** Bytes counted for each title, for its coding and its row of the page. */
const CODED = 2_048

export const codePages: readonly Route[] = [
  { method: 'GET', path: '/code', handle: () => showForm('') },
  { method: 'POST', path: '/code', handle: codeList },
]

function showForm(titles: string, fault?: string): Shown {
  return {
    title: 'Code my list',
    content: html`<h1>Code my list</h1>
      <p>Paste job titles, one a line. Each gets the occupation code that fits best, with how certain that is and the next best choices.</p>
      ${fault !== undefined && html`<p class="problem" role="alert">${fault}</p>`}
      <${PostForm} action="/console/code">
        <label>Job titles<textarea name="titles" rows="12" required spellcheck=${false}>${titles}</textarea></label>
        <p>
          <label>Or choose a text or CSV file with a title in the first column${' '}
            <input type="file" accept=".txt,.csv,text/plain,text/csv" data-fill="titles" />
          </label>
        </p>
        <noscript><p class="soft">Choosing a file needs JavaScript. Without it, paste the titles.</p></noscript>
        <button type="submit">Find the codes</button>
      <//>`,
  }
}

async function codeList(context: Context): Promise<Outcome> {
  const { api, request, principal } = context
  const form = await readForm(request)
  const titles = (form.get('titles') ?? '')
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (titles.length === 0) return showForm('', 'The list is empty. Paste one title per line.')
  if (titles.length > MOST) {
    return showForm(
      '',
      `The list has ${formatNumber(titles.length)} titles; at most ${formatNumber(MOST)} are allowed. For longer lists use "mahi occupations code".`,
    )
  }
  request.server.inFlight.hold(request, titles.length * CODED)
  const coded = await whileConnected(request, (signal) => codeInBatches(api, titles, form, signal))
  if (form.has('download')) return download(coded)
  const canConfirm = principal.scopes.has(CONFIRM_SCOPE)
  if (!form.has('confirm')) return showCoded(titles, coded, canConfirm)
  const decisions = coded
    .filter(({ reviewed }) => reviewed)
    .map(({ title, chosen, other }) => ({ title, occupationCode: other || chosen || undefined }))
  if (decisions.length === 0)
    return showCoded(titles, coded, canConfirm, 'No title is marked as reviewed. Nothing was stored.')
  try {
    return showDecided(await confirm(context, decisions))
  } catch (error) {
    if (!(error instanceof DecisionRefused)) throw error
    return showCoded(titles, coded, canConfirm, error.message)
  }
}

/** The codings of all titles, with what the form has chosen for each. */
async function codeInBatches(
  api: Api,
  titles: readonly string[],
  form: URLSearchParams,
  signal: AbortSignal,
): Promise<Coded[]> {
  const coded: Coded[] = []
  for (let start = 0; start < titles.length; start += BATCH) {
    const batch = titles.slice(start, start + BATCH)
    const { items } = await api.call<{ items: readonly Coding[] }>('/codings', {
      method: 'POST',
      body: { items: batch.map((title) => ({ title })) },
      signal,
    })
    for (const [index, coding] of items.entries()) {
      const place = start + index
      coded.push({
        title: batch[index] ?? '',
        coding,
        chosen: form.get(`choice-${place}`) ?? coding.code ?? '',
        other: form.get(`other-${place}`)?.trim() ?? '',
        reviewed: form.has(`reviewed-${place}`),
      })
    }
  }
  return coded
}

function download(coded: readonly Coded[]): Outcome {
  const rows = coded.map(({ title, chosen, other, coding }) => [
    title,
    other || chosen,
    coding.candidates.find(({ occupationCode }) => occupationCode === (other || chosen))?.titleEnglish ?? '',
    coding.certainty.toFixed(2),
  ])
  return {
    download: 'coded-titles.csv',
    type: 'text/csv; charset=utf-8',
    body: stringify([['title', 'occupationCode', 'occupationTitle', 'certainty'], ...rows], {
      bom: true,
      escape_formulas: true,
    }),
  }
}

const COLUMNS = ['Title', { name: 'Certainty', number: true }, 'Occupation']

function showCoded(
  titles: readonly string[],
  coded: readonly Coded[],
  canConfirm: boolean,
  fault?: string,
): Shown {
  const certain = coded.filter(({ coding }) => coding.code !== undefined).length
  const buttons = html`<p class="actions">
    ${canConfirm && html`<button type="submit" name="confirm" value="reviewed">Confirm the reviewed titles</button>`}
    <button type="submit" class=${canConfirm ? 'quiet' : undefined} name="download" value="csv">Download as CSV</button>
  </p>`
  return {
    title: 'Coded list',
    wide: true,
    ...(fault !== undefined && { status: 400 }),
    content: html`<h1>Coded list</h1>
      ${fault !== undefined && html`<p class="problem" role="alert">${fault}</p>`}
      <p class="verdict">${count(coded.length, 'title')}: ${certain} with a code that is certain enough, ${coded.length - certain} to choose.</p>
      <p class="soft">Choose with the radio buttons, or in a row with the keys 1, 2 and 3; 0 chooses none, and the arrow keys move between choices.</p>
      ${
        canConfirm &&
        html`<p class="soft">Each of these keys also marks the title as reviewed; A accepts the choice that is marked, and C leads to the field for another code. Confirmed titles become names of the search. <a href="/console/code/confirmed">Confirmed titles</a></p>`
      }
      <${PostForm} action="/console/code">
        <textarea hidden name="titles">${titles.join('\n')}</textarea>
        ${buttons}
        <p><a href="/console/code">Another list</a></p>
        <${Table} region class="cards" label="Titles and codes" columns=${canConfirm ? [...COLUMNS, 'Review'] : COLUMNS} data-choices>
          ${coded.map((each, index) => showRow(each, index, canConfirm))}
        <//>
        ${buttons}
      <//>`,
  }
}

interface ChoiceProperties {
  readonly name: string
  readonly value: string
  readonly chosen: string
  readonly children: ComponentChildren
}

function Choice({ name, value, chosen, children }: ChoiceProperties): VNode {
  return html`<label class="choice">
    <input type="radio" name=${name} value=${value} checked=${value === chosen} />${' '}<span>${children}</span>
  </label>`
}

function showRow(
  { title, coding, chosen, other, reviewed }: Coded,
  index: number,
  canConfirm: boolean,
): VNode {
  const group = coding.group?.nameEnglish
  const name = `choice-${index}`
  return html`<tr>
    <th scope="row">${title}</th>
    <td class="number">${Math.round(coding.certainty * 100)}%</td>
    <td><fieldset>
      <legend class="visually-hidden">Occupation for ${title}</legend>
      ${coding.candidates.slice(0, 3).map(
        ({ occupationCode: code, titleEnglish, certainty }, place) => html`<div class="candidate">
          <${Choice} name=${name} value=${code} chosen=${chosen}>
            ${place + 1}. ${titleEnglish ?? code} <span class="soft">${code}, ${Math.round(certainty * 100)}%</span>
          <//>
          ${' '}<a class="soft" href=${occupationLink(code)}>open</a>
        </div>`,
      )}
      <div>
        <${Choice} name=${name} value="" chosen=${chosen}>
          None of these${group !== undefined && coding.code === undefined && html` <span class="soft">(group: ${group})</span>`}
        <//>
      </div>
    </fieldset></td>
    ${
      canConfirm &&
      html`<td>
        <label class="choice"><input type="checkbox" name=${`reviewed-${index}`} value="yes" checked=${reviewed} /> <span>Reviewed<span class="visually-hidden">: ${title}</span></span></label>
        <label class="soft">Other code<span class="visually-hidden"> for ${title}</span>
          <input name=${`other-${index}`} value=${other} maxlength="64" size="10" />
        </label>
      </td>`
    }
  </tr>`
}
