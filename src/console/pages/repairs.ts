import type * as types from '../../../client/src/types.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { ApiProblem, type Having } from '../api.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { PostForm } from '../post-form.ts'
import { shorten } from '../record-text.ts'
import { titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { readOrigins } from './activity.ts'
import { linkTo, pathOf, readWorkbench, showStep, stepLink, type Workbench, WRITING } from './workbench.ts'

type Repair = Having<types.Repair, 'file' | 'why' | 'records' | 'examples'>

export type Repairs = Having<Omit<types.Repairs, 'repairs' | 'left'>, 'changes' | 'etag'> & {
  readonly repairs: readonly Repair[]
  readonly left: readonly Repair[]
}

export const repairPages: readonly Route[] = [
  get('/submissions/:token/repairs', showRepairs, { personal: true }),
  get('/submissions/:token/repairs/progress', followPreview),
  post('/submissions/:token/repairs', repair, showRepairs, WRITING),
  post('/submissions/:token/repairs/undo', undo, showRepairs, WRITING),
]

/** What Mahi can repair; `pending` if it does not know that soon, and `undefined` if it cannot. */
export async function findRepairs(context: Context): Promise<Repairs | 'pending' | undefined> {
  return await readRepairs(context, 1).catch((error: unknown) => {
    if (error instanceof ApiProblem) return undefined
    throw error
  })
}

/** @throws {ApiProblem} */
async function readRepairs(context: Context, seconds: number): Promise<Repairs | 'pending'> {
  const repairs = await context.api.call<Partial<Repairs>>(pathOf(context, '/repairs'), {
    headers: { prefer: `wait=${seconds}` },
  })
  return repairs.changes === undefined ? 'pending' : (repairs as Repairs)
}

/** Seconds that the page of the repairs waits before it says that they are still looked for. */
const PATIENCE = 10

const repairsLink = (context: Context, rest = ''): string => linkTo(context, `/repairs${rest}`)

const SEARCHING = 'Mahi looks for what it can repair.'

async function followPreview(context: Context): Promise<Outcome> {
  const repairs = await findRepairs(context)
  if (repairs === 'pending' || repairs === undefined)
    return { data: { state: 'InProgress', text: SEARCHING } }
  return { data: { state: 'Processed', text: describeRepairs(repairs), clears: repairs.clears } }
}

function describeRepairs({ changes, causes = 0, clears = [] }: Repairs): string {
  if (changes === 0) return 'Mahi can repair none of these.'
  const some =
    clears.length === 0
      ? 'a part of these'
      : `${formatNumber(clears.length)} of these ${formatNumber(causes)}`
  return `Mahi can repair ${some}.`
}

/** How much of what is wrong Mahi can repair, and where to see it. */
export function showRepairNotice(context: Context, repairs: Repairs | 'pending'): VNode | false {
  const see = (style: string) =>
    html`<a class=${`button ${style}`} href=${repairsLink(context)}>See the repairs</a>`
  // What a person reads or does meanwhile is not interrupted: the sentence changes, and marks appear.
  if (repairs === 'pending')
    return html`<p data-follow=${repairsLink(context, '/progress')}><span role="status" data-text>${SEARCHING}</span> ${see('quiet')}</p>`
  return repairs.changes > 0 && html`<p>${describeRepairs(repairs)} ${see('')}</p>`
}

/** The mark of a cause that Mahi can repair; hidden while that is not known. */
export function markRepair(cause: string, repairs: Repairs | 'pending' | undefined): VNode | false {
  const isPending = repairs === 'pending'
  if (!isPending && repairs?.clears?.includes(cause) !== true) return false
  return html` <span class="tag good" data-clears=${cause} hidden=${isPending}>Mahi can repair this</span>`
}

export function showUndo(context: Context): VNode {
  return html`<${PostForm} action=${repairsLink(context, '/undo')}>
    <p>The files were repaired. You can undo that until the next upload. <button type="submit" class="quiet">Undo the repair</button></p>
  <//>`
}

async function showRepairs(context: Context): Promise<Shown> {
  const [workbench, repairs] = await Promise.all([readWorkbench(context), readRepairs(context, PATIENCE)])
  const { mayWrite } = workbench
  const undoForm = mayWrite && (await readOrigins(workbench)).canUndo && showUndo(context)
  if (repairs === 'pending')
    return showStep(workbench, 'fix', {
      title: 'Repairs',
      content: html`<p data-follow=${repairsLink(context, '/progress')} data-done=${repairsLink(context)}><span role="status" data-text>${SEARCHING}</span></p>
        <noscript><p><a href=${repairsLink(context)}>Refresh</a></p></noscript>
        ${undoForm}`,
    })
  const { changes, etag, left } = repairs
  return showStep(workbench, 'fix', {
    title: 'Repairs',
    content: html`
      ${
        changes === 0
          ? html`<p>Nothing has only one possible repair.</p>`
          : html`<p>Mahi ${mayWrite ? 'makes' : 'could make'} ${count(changes, 'change')}.${describeEffect(repairs)}${!mayWrite && ` ${explainNoRepair(workbench)}`}</p>
          ${
            mayWrite &&
            html`<${PostForm} action=${repairsLink(context)} keep=${{ etag }}>
            <p><button type="submit">Apply and check again</button></p>
          <//>`
          }
          ${showTable(workbench, repairs)}`
      }
      ${undoForm}
      ${left.length > 0 && html`<h2>Left, because it is not certain</h2><ul>${left.map((each) => html`<li>${nameFile(workbench, each)}, ${each.field === undefined ? count(each.records, 'time') : html`<code>${each.field}</code>`}: ${each.why}</li>`)}</ul>`}
      <p><a href=${stepLink(context, 'fix')}>All causes</a></p>`,
  })
}

/** Why somebody cannot apply the repairs. */
const explainNoRepair = ({ isOpen }: Workbench): string =>
  isOpen
    ? 'Applying them needs the scope submissions:write, which your sign-in lacks. Ask the operator of this service for it.'
    : 'The submission can no longer be changed, so they cannot be applied.'

/** What the causes of the current check become. */
function describeEffect({ causes, clears = [], causesLeft = 0 }: Repairs): string {
  if (causes === undefined) return ''
  const gone =
    clears.length === 0
      ? 'No cause disappears as a whole'
      : `${formatNumber(clears.length)} of ${count(causes, 'cause')} ${clears.length === 1 ? 'disappears' : 'disappear'}`
  const left = causesLeft === 0 ? 'none is' : causesLeft === 1 ? 'one is' : `${formatNumber(causesLeft)} are`
  return ` ${gone}, and ${left} left then.`
}

const nameFile = ({ rules }: Workbench, { file }: Repair): string => titlesOf(rules).get(file) ?? file

function showTable(workbench: Workbench, { repairs }: Repairs): VNode {
  // As `mahi check --fix` lists them: the names of 90 columns come after the values that change.
  const ordered = repairs.toSorted((one, other) => other.records - one.records)
  return table('Repairs', ordered, [
    [
      'What',
      (each) =>
        html`${nameFile(workbench, each)}${each.field !== undefined && html`<br /><code>${each.field}</code>`}`,
    ],
    ['Before', ({ examples }) => showValues(examples.map(({ before }) => before))],
    ['After', ({ examples }) => showValues(examples.map(({ after }) => after))],
    ['Changes', ({ records }) => records, 'number'],
    ['Why it is certain', ({ why }) => why],
  ])
}

function showValues(values: readonly (string | undefined)[]): VNode {
  return html`<ul class="values">${values.map((value = '') => html`<li>${value === '' ? html`<span class="soft">nothing</span>` : html`<q class="mono">${shorten(value)}</q>`}</li>`)}</ul>`
}

/** Repairs the files of the preview, and requests a check of what they are then. */
async function repair(context: Context): Promise<Outcome> {
  const { api, request } = context
  const etag = (await readForm(request)).get('etag') ?? ''
  await api.call(pathOf(context, '/repairs'), { method: 'POST', headers: { 'if-match': etag } })
  await api.call(pathOf(context, '/validation-runs'), { method: 'POST' })
  return { redirect: stepLink(context, 'check') }
}

async function undo(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/repairs'), { method: 'DELETE' })
  return { redirect: stepLink(context, 'files'), notice: 'The files are as they were before the repair.' }
}
