import { compareFields } from '../../occupations/history/fields.ts'
import { assertKept, listDifferences, RevisionUnknown } from '../../occupations/history/past.ts'
import { readRemoved } from '../../occupations/history/replacements.ts'
import { type CatalogueRevision, listRevisions } from '../../occupations/history/revision-log.ts'
import type { Context, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { count, link, occupationLink, showTime } from '../links.ts'
import { nameOf, type Occupation } from '../records.ts'

export const changesPages: readonly Route[] = [
  { method: 'GET', path: '/changes', handle: showRevisions },
  { method: 'GET', path: '/changes/:number', handle: showRevision },
]

const REVISIONS = 200
/** The most records shown on the page of a revision. */
const RECORDS = 200

/** Callers that can list occupations can also see their changes. */
async function assertReader({ api }: Context): Promise<void> {
  await api.call('/occupations', { query: { Limit: 1 } })
}

async function showRevisions(context: Context): Promise<Shown> {
  await assertReader(context)
  const revisions = await listRevisions(context.services.database, REVISIONS)
  return {
    title: 'Changes',
    content: html`<h1>Changes of the catalogue</h1>
      ${revisions.length === 0 && html`<p>Nothing has been imported yet.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Revisions"><table>
        <thead><tr><th scope="col">Revision</th><th scope="col">When</th><th scope="col">Command</th><th scope="col" class="number">New</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Removed</th><th scope="col" class="number">In all</th></tr></thead>
        <tbody>${revisions.map(
          (revision) => html`<tr>
            <th scope="row"><a href=${`/console/changes/${revision.number}`}>${revision.number}</a></th>
            <td class="when">${when(revision)}</td><td>${revision.command}${revision.files.map(({ name }) => html` <span class="soft">${name}</span>`)}</td>
            <td class="number">${revision.created}</td><td class="number">${revision.updated}</td><td class="number">${revision.deleted}</td><td class="number">${revision.total}</td>
          </tr>`,
        )}</tbody>
      </table></div>`,
  }
}

const when = ({ stored }: CatalogueRevision) => (stored === 0 ? '' : showTime(new Date(stored).toISOString()))

async function showRevision(context: Context): Promise<Shown> {
  await assertReader(context)
  const { database } = context.services
  const number = Number((context.request.params as { number: string }).number)
  const before = Number(context.query.get('since') || number - 1)
  if (![number, before].every((each) => Number.isSafeInteger(each) && each >= 0)) return unknown(number)
  const changes: {
    code: string
    before?: Occupation
    after?: Occupation
    fields: ReturnType<typeof compareFields>
  }[] = []
  let more = false
  try {
    await assertKept(database, before)
    await assertKept(database, number)
    for await (const difference of listDifferences(database, before, number)) {
      if (changes.length === RECORDS) {
        more = true
        break
      }
      const { code, before: old, after } = difference
      changes.push({
        code,
        ...(old !== undefined && { before: JSON.parse(old) as Occupation }),
        ...(after !== undefined && { after: JSON.parse(after) as Occupation }),
        fields: old !== undefined && after !== undefined ? compareFields(old, after) : [],
      })
    }
  } catch (error) {
    if (!(error instanceof RevisionUnknown)) throw error
    return unknown(number, error.message)
  }
  const successors = new Map<string, readonly string[]>()
  for (const { code, after } of changes) {
    if (after === undefined) successors.set(code, (await readRemoved(database, code))?.replacedBy ?? [])
  }
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
    content: html`<p class="soft"><a href="/console/changes">Changes</a></p>
      <h1>Revision ${number}</h1>
      <form class="row" method="get" action=${`/console/changes/${number}`}><label>Compared with revision<input name="since" inputmode="numeric" value=${before} /></label><button type="submit">Compare</button></form>
      ${changes.length === 0 && html`<p>These revisions have the same content.</p>`}
      ${more && html`<p class="problem">Only the first ${RECORDS} changes are shown. <code>mahi occupations diff ${before} ${number}</code> lists them all.</p>`}
      ${kinds.map(
        ({ title, found }) =>
          found.length > 0 &&
          html`<h2>${title} <span class="soft">(${count(found.length, 'occupation')})</span></h2>
            ${found.map(({ code, after, before: old, fields }) =>
              fields.length === 0
                ? html`<p><a href=${occupationLink(code)}>${nameOf(after ?? old ?? {})}</a> <span class="soft">${code}</span>${showSuccessors(successors.get(code))}</p>`
                : html`<details open=${found.length <= 5}><summary>${nameOf(after ?? {})} <span class="soft">${code}, ${count(fields.length, 'field')}</span></summary>
                    <p><a href=${occupationLink(code)}>Open the occupation</a></p>${showFields(fields)}</details>`,
            )}`,
      )}`,
  }
}

function showSuccessors(codes: readonly string[] = []): VNode | false {
  if (codes.length === 0) return false
  const links = codes.map(
    (code, index) => html`${index > 0 && ', '}<a href=${occupationLink(code)}>${code}</a>`,
  )
  return html` replaced by ${links}`
}

function showFields(fields: ReturnType<typeof compareFields>): VNode {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Changed fields"><table><thead><tr><th scope="col">Field</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${fields.map(({ field, before, after }) => html`<tr><th scope="row">${field}</th><td>${showValue(before)}</td><td>${showValue(after)}</td></tr>`)}</tbody></table></div>`
}

function showValue(value: unknown): VNode | string {
  if (value === undefined) return '–'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return html`<ul>${value.map((each) => html`<li>${each}</li>`)}</ul>`
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function unknown(number: number, detail = 'Revisions are whole numbers.'): Shown {
  return {
    title: 'No such revision',
    status: 404,
    content: html`<h1>Revision ${number} is not available</h1><p>${detail}</p><p><a href=${link('/console/changes')}>All revisions</a></p>`,
  }
}
