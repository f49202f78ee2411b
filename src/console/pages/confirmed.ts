import type * as types from '../../../client/src/types.ts'
import { count } from '../../foundation/text/format-number.ts'
import { ApiProblem, type Having, type ProblemShown } from '../api.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { FormFault, renameValue } from '../faults.ts'
import { Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { occupationLink } from '../links.ts'
import { inBatches, showNext } from '../lists.ts'
import { Filters, PostForm } from '../post-form.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'
import { showSuccessors } from './changes.ts'
import { listStates, showState } from './states.ts'

/** The scope of reviewers. */
export const CONFIRM_SCOPE = 'codings:confirm'

/** The most decisions per request. */
const BATCH = 300

type Reviewed = Having<types.ReviewedCoding, 'id' | 'title' | 'state' | 'decisions'>

interface Decision {
  readonly title: string
  readonly occupationCode?: string | undefined
}

export const confirmedPages: readonly Route[] = [
  get('/code/confirmed', showConfirmed, { scope: CONFIRM_SCOPE }),
  post('/code/confirmed', withdraw, showConfirmed, { scope: CONFIRM_SCOPE }),
]

/**
 * Sends the decisions of the user, and returns how many were stored and about how many reviewers disagree.
 *
 * @throws {FormFault} for a code that the catalogue does not have, or a title that cannot be stored
 */
export async function confirm(
  { api }: Context,
  decisions: readonly Decision[],
): Promise<{ stored: number; disputed: number }> {
  let [stored, disputed] = [0, 0]
  for (const items of inBatches(decisions, BATCH)) {
    try {
      const call = { method: 'POST', body: { items } } as const
      const { items: reviewed } = await api.call<{ items: Reviewed[] }>('/confirmed-codings', call)
      stored += items.length
      disputed += reviewed.filter(({ state }) => state === 'disputed').length
    } catch (error) {
      if (!(error instanceof ApiProblem) || ![400, 422].includes(error.problem.status)) throw error
      throw new FormFault(explain(error.problem, items) + describeStored(stored))
    }
  }
  return { stored, disputed }
}

/** The API names an item by its place in the request, which the user does not see. */
function explain({ detail, errors = {} }: ProblemShown, items: readonly Decision[]): string {
  const named = items.flatMap(({ title }, index) =>
    Object.entries({ title: `The title “${title}”`, occupationCode: `The code for “${title}”` }).flatMap(
      ([field, words]) => {
        const name = `items[${index}].${field}`
        return (errors[name] ?? []).map((sentence) => renameValue(sentence, name, words))
      },
    ),
  )
  return named.length === 0 ? detail : named.join(' ')
}

const describeStored = (stored: number): string =>
  stored === 0
    ? ' Nothing was stored.'
    : ` Of the others, the first ${count(stored, 'decision is', 'decisions are')} stored already.`

async function showConfirmed(context: Context): Promise<Shown> {
  const { api, query, principal } = context
  const state = query.get('state') ?? ''
  const page = await api.call<{ items: Reviewed[]; nextCursor?: string }>('/confirmed-codings', {
    query: { 'Filter.State': state, Cursor: query.get('cursor') ?? '', Limit: 100 },
  })
  return {
    title: 'Confirmed titles',
    content: html`<h1>Confirmed titles</h1>
      <p>Job titles whose codes reviewers have confirmed. A title about which reviewers disagree is disputed, and no name of the search until one of them decides otherwise. A title whose code is no longer in the catalogue is no name of the search either: decide about it again. <a href="/console/code">Code a list</a> to review more titles.</p>
      <${Filters} action="/console/code/confirmed">
        <${Select} name="state" label="State" all="All" value=${state} options=${listStates('title')} />
      <//>
      <div data-results>
        ${showTitles(page.items, principal.client)}
        ${showNext(context, 'cursor', page.nextCursor)}
      </div>`,
  }
}

/** @param reviewer whose decisions can be withdrawn */
function showTitles(items: readonly Reviewed[], reviewer: string): VNode {
  return table(
    'Titles and decisions',
    items,
    [
      ['Title', ({ title }) => title],
      ['State', ({ state }) => showState('title', state)],
      [
        'Decisions',
        ({ decisions, missingCodes = [] }) =>
          decisions.map(
            ({ reviewer, occupationCode: code, decidedDate }) => html`<div>
            ${code ? html`<a href=${occupationLink(code)}>${code}</a>` : 'Unknown'}${showRemoved(code, missingCodes)}${' '}
            <span class="soft">${reviewer}, ${showTime(decidedDate)}</span>
          </div>`,
          ),
      ],
      [
        'Change',
        ({ id, title, decisions }) =>
          decisions.some((each) => each.reviewer === reviewer) &&
          html`<${PostForm} action="/console/code/confirmed" keep=${{ id }}>
          <button type="submit" class="quiet">Withdraw<span class="visually-hidden"> my decision about ${title}</span></button>
        <//>`,
      ],
    ],
    { empty: 'No titles.' },
  )
}

/** What became of a code that the catalogue no longer has. */
function showRemoved(
  code: string | undefined,
  missing: readonly types.MissingOccupation[],
): VNode | undefined {
  const found = missing.find(({ occupationCode }) => occupationCode === code)
  return found && html`, no longer in the catalogue${showSuccessors(found.replacedBy)}`
}

async function withdraw({ api, request }: Context): Promise<Outcome> {
  const id = (await readForm(request)).get('id') ?? ''
  await api.call(`/confirmed-codings/${encodeURIComponent(id)}`, { method: 'DELETE' })
  return { redirect: '/console/code/confirmed', notice: 'Your decision is withdrawn.' }
}
