import { count } from '../../foundation/text/format-number.ts'
import { ApiProblem } from '../api.ts'
import { absent, type Context, get, type Route, type Shown } from '../context.ts'
import { Field } from '../fields.ts'
import { crumbs, html, type VNode } from '../html.ts'
import { link, occupationLink } from '../links.ts'
import { nameOf } from '../records.ts'
import { type Difference, type Differences, listRevisions } from '../revisions.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'

export const changesPages: readonly Route[] = [
  get('/changes', showRevisions),
  get('/changes/:number', showRevision),
]

/** The most revisions on the page: as many as the operation lists. */
const REVISIONS = 200

async function showRevisions({ api }: Context): Promise<Shown> {
  const { revisions } = await listRevisions(api, REVISIONS)
  return {
    title: 'Changes',
    content: html`<h1>Changes of the catalogue</h1>
      ${table(
        'Revisions',
        revisions,
        [
          [
            'Revision',
            // There is none before the first.
            ({ revision }) =>
              revision === 0 ? revision : html`<a href=${`/console/changes/${revision}`}>${revision}</a>`,
            { label: 'Revision' },
          ],
          ['When', ({ stored }) => showTime(stored)],
          [
            'Command',
            ({ command, files }) =>
              html`${command}${files.map((name) => html` <span class="soft">${name}</span>`)}`,
          ],
          ['New', ({ created }) => created, 'number'],
          ['Changed', ({ updated }) => updated, 'number'],
          ['Removed', ({ removed }) => removed, 'number'],
          ['In all', ({ totalCount }) => totalCount, 'number'],
        ],
        { empty: 'Nothing has been imported yet.' },
      )}`,
  }
}

async function showRevision({ api, params, query }: Context): Promise<Shown> {
  const number = Number(params.number)
  const before = Number(query.get('since') || number - 1)
  if (![number, before].every((each) => Number.isSafeInteger(each) && each >= 0)) return unknown(number)
  const after = query.get('after') ?? undefined
  let compared: Differences
  try {
    compared = await api.call(`/occupation-revisions/${number}`, { query: { Since: before, After: after } })
  } catch (error) {
    if (!(error instanceof ApiProblem && error.problem.status === 404)) throw error
    return unknown(number, error.problem.detail)
  }
  const { differences: changes, next } = compared
  const kinds = [
    { title: 'New', found: changes.filter((each) => each.before === undefined) },
    {
      title: 'Changed',
      found: changes.filter((each) => each.before !== undefined && each.after !== undefined),
    },
    { title: 'Removed', found: changes.filter((each) => each.after === undefined) },
  ]
  return {
    title: `Revision ${number}`,
    content: html`${crumbs(['/console/changes', 'Changes'])}
      <h1>Revision ${number}</h1>
      <form class="row" method="get" action=${`/console/changes/${number}`}>
        <${Field} name="since" label="Compared with revision" inputmode="numeric" value=${String(before)} />
        <button type="submit">Compare</button>
      </form>
      ${after !== undefined && html`<p>The changes after the code ${after}.</p>`}
      ${changes.length === 0 && html`<p>${describeNone(after, next)}</p>`}
      ${kinds.map(
        ({ title, found }) =>
          found.length > 0 &&
          html`<h2>${title} <span class="soft">(${count(found.length, 'occupation')})</span></h2>
            ${found.map((each) => showChange(each, found.length <= 5))}`,
      )}
      ${
        next !== undefined &&
        html`<p><a href=${link(`/console/changes/${number}`, { since: before, after: next })}>More changes</a></p>`
      }`,
  }
}

/** Why a page has no changes. */
function describeNone(after: string | undefined, next: string | undefined): string {
  if (next !== undefined) return `No record up to the code ${next} differs.`
  return after === undefined ? 'These revisions have the same content.' : 'No other record differs.'
}

function showChange(change: Difference, open: boolean): VNode {
  const { occupationCode: code, before, after, fields, replacedBy } = change
  const name = nameOf(after ?? before ?? {})
  if (fields.length === 0) {
    return html`<p>
      <a href=${occupationLink(code)}>${name}</a> <span class="soft">${code}</span>${showSuccessors(replacedBy)}
    </p>`
  }
  return html`<details open=${open}>
    <summary>${name} <span class="soft">${code}, ${count(fields.length, 'field')}</span></summary>
    <p><a href=${occupationLink(code)}>Open the occupation</a></p>
    ${table('Changed fields', fields, [
      ['Field', ({ field }) => field],
      ['Before', (each) => showValue(each.before)],
      ['After', (each) => showValue(each.after)],
    ])}
  </details>`
}

/** The successors of a removed code, at the end of a clause about it. */
export function showSuccessors(codes: readonly string[] = []): VNode | false {
  if (codes.length === 0) return false
  const links = codes.map(
    (code, index) => html`${index > 0 && ', '}<a href=${occupationLink(code)}>${code}</a>`,
  )
  return html`, replaced by ${links}`
}

/** The value of a field of a record. */
export function showValue(value: unknown): VNode | string {
  if (value === undefined) return '–'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return html`<ul>${value.map((each) => html`<li>${each}</li>`)}</ul>`
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const unknown = (number: number, detail = 'Revisions are whole numbers.'): Shown =>
  absent(`Revision ${number} is not available`, html`${detail} <a href="/console/changes">All revisions</a>`)
