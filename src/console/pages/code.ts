import { stringify } from 'csv-stringify/sync'
import type * as types from '../../../client/src/types.ts'
import { whileConnected } from '../../api/request/while-connected.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import type { Api, Having } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { FormFault } from '../faults.ts'
import { Field, Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { type ComponentChildren, html, type VNode } from '../html.ts'
import { link, occupationLink, readPage } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Pager, Table } from '../table.ts'
import { Time } from '../time.ts'
import {
  codeOf,
  isOpen,
  keyOf,
  type ListedTitle,
  LONGEST_TITLE,
  readTitles,
  type TitleList,
} from '../title-list.ts'
import { CONFIRM_SCOPE, confirm } from './confirmed.ts'

/** A text coded by `/v1/codings`. */
type Coding = Having<types.Coding, 'certainty' | 'candidates'>

/** The most texts per request. */
const BATCH = 300
/** The most titles per list. */
const MOST = 3_000
/** The titles of a page: more of them take too long to render in one go. */
const PAGE_SIZE = 200
/** From which certainty on a code is taken at first: where it is more likely right than wrong. */
const THRESHOLD = 50

export const codePages: readonly Route[] = [
  { method: 'GET', path: '/code', handle: showForm },
  { method: 'POST', path: '/code', handle: createList, again: showForm },
  { method: 'GET', path: '/code/lists/:list', handle: showList },
  { method: 'POST', path: '/code/lists/:list', handle: saveList, again: showList },
]

const listLink = (id: string, more: Record<string, string | number | undefined> = {}): string =>
  link(`/console/code/lists/${encodeURIComponent(id)}`, more)

async function showForm({ services, principal }: Context): Promise<Shown> {
  const lists = await services.drafts.list<TitleList>(principal)
  return {
    title: 'Code my list',
    content: html`<h1>Code my list</h1>
      <p>Paste job titles, one a line, or a table with a column such as Job title. Each gets the occupation code that fits best, with how certain that is and the next best choices.</p>
      <${PostForm} action="/console/code">
        <${Field} name="titles" label="Job titles" rows=${12} required spellcheck=${false} />
        <p>
          <label>Or choose a text or CSV file${' '}
            <input type="file" accept=".txt,.csv,text/plain,text/csv" data-fill="titles" />
          </label>
        </p>
        <noscript><p class="soft">Choosing a file needs JavaScript. Without it, paste the titles.</p></noscript>
        <button type="submit">Find the codes</button>
      <//>
      ${lists.length > 0 && showLists(lists)}`,
  }
}

function showLists(lists: Awaited<ReturnType<Context['services']['drafts']['list']>>): VNode {
  const columns = ['List', { name: 'Titles', number: true }, { name: 'To choose', number: true }, 'Changed']
  return html`<h2>Your lists</h2>
    <p class="soft">A list is kept for 30 days after its last change. Only you see it.</p>
    <${Table} class="cards" label="Your lists" columns=${columns}>${lists.map(({ id, content, changed }) => {
      const { lines, titles, threshold } = content as TitleList
      return html`<tr>
        <th scope="row"><a href=${listLink(id)}>${shorten(lines[0] ?? '')} …</a></th>
        <td class="number">${formatNumber(lines.length)}</td>
        <td class="number">${formatNumber(titles.filter((each) => isOpen(each, threshold)).length)}</td>
        <td class="when"><${Time} at=${new Date(changed).toISOString()} /></td>
      </tr>`
    })}<//>`
}

async function createList({ api, request, principal, services }: Context): Promise<Outcome> {
  const lines = readTitles((await readForm(request)).get('titles') ?? '')
  const field = 'titles'
  if (lines.length === 0) throw new FormFault('The list is empty. Paste one title per line.', { field })
  if (lines.length > MOST)
    throw new FormFault(
      `The list has ${formatNumber(lines.length)} titles; at most ${formatNumber(MOST)} are allowed. For longer lists use "mahi occupations code".`,
      { field },
    )
  const different = [...new Map(lines.map((line) => [keyOf(line), line])).values()]
  const codings = await whileConnected(request, (signal) => code(api, different, signal))
  const titles = different.map((title, at): ListedTitle => {
    const [best] = codings[at]?.candidates ?? []
    const certainty = best?.certainty ?? 0
    return { title, certainty, ...(best?.occupationCode !== undefined && { code: best.occupationCode }) }
  })
  const list: TitleList = {
    lines,
    titles: titles.toSorted((one, other) => one.certainty - other.certainty),
    threshold: THRESHOLD,
  }
  return { redirect: listLink(await services.drafts.create(principal, list)) }
}

/** The codings of titles, in their order; one that is too long has none. */
async function code(
  api: Api,
  titles: readonly string[],
  signal?: AbortSignal,
): Promise<readonly (Coding | undefined)[]> {
  const codings = new Map<string, Coding>()
  const sent = titles.filter((title) => title.length <= LONGEST_TITLE)
  for (let start = 0; start < sent.length; start += BATCH) {
    const batch = sent.slice(start, start + BATCH)
    const { items } = await api.call<{ items: readonly Coding[] }>('/codings', {
      method: 'POST',
      body: { items: batch.map((title) => ({ title })) },
      ...(signal !== undefined && { signal }),
    })
    for (const [index, coding] of items.entries()) codings.set(batch[index] ?? '', coding)
  }
  return titles.map((title) => codings.get(title))
}

const idOf = ({ request }: Context): string => (request.params as { list: string }).list

const FILTERS = { open: 'To choose', chosen: 'Chosen' } as const

async function showList(context: Context): Promise<Shown> {
  const { api, query, principal, services } = context
  const id = idOf(context)
  const list = await services.drafts.find<TitleList>(principal, id)
  if (list === undefined) return noSuchList()
  const { titles, threshold, lines } = list
  const show = query.get('show') ?? ''
  const open = titles.filter((each) => isOpen(each, threshold)).length
  const listed = titles
    .map((title, index) => ({ ...title, index }))
    .filter((each) => show === '' || (show === 'open') === isOpen(each, threshold))
  const page = readPage(query)
  const shown = listed.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  const codings = await code(
    api,
    shown.map(({ title }) => title),
  )
  const canConfirm = principal.scopes.has(CONFIRM_SCOPE)
  const pages = Math.ceil(listed.length / PAGE_SIZE)
  const reviewed = titles.filter((each) => each.reviewed && !each.confirmed).length
  return {
    title: 'Coded list',
    notice: describeSaved(query),
    content: html`<h1>Coded list</h1>
      <p class="verdict">${count(lines.length, 'title')}${titles.length < lines.length && `, ${formatNumber(titles.length)} different`}: ${formatNumber(open)} to choose, ${formatNumber(titles.length - open)} with a code that is chosen or certain enough.</p>
      <form class="row" method="get" action=${listLink(id)} data-live>
        <${Select} name="show" label="Titles" all="All, the least certain first" value=${show} options=${Object.entries(FILTERS)} />
        <noscript><button type="submit">Show</button></noscript>
      </form>
      <p class="soft">In a row, the keys 1, 2 and 3 choose, and 0 chooses none.${canConfirm && ' A accepts the choice that is marked, and C leads to the field for another code. A choice is to be confirmed if it is marked as reviewed, which each of these keys does too. Confirmed titles become names of the search.'} What you choose is kept${' '}<span data-saved>when you save</span>.</p>
      <${PostForm} action=${listLink(id, { show, page })} data-save>
        <p class="actions">
          <button type="submit">Save</button>
          ${page < pages && html`<button type="submit" class="quiet" name="next" value=${page + 1}>Save and next page</button>`}
          ${canConfirm && html`<button type="submit" class="quiet" name="confirm" value="reviewed">Confirm the reviewed titles${reviewed > 0 && ` (${formatNumber(reviewed)} saved)`}</button>`}
          <button type="submit" class="quiet" name="download" value="csv">Download as CSV</button>
        </p>
        <div class="row">
          <${Select} name="threshold" label="Certain enough from" value=${String(threshold)} options=${THRESHOLDS} />
        </div>
        ${shown.length === 0 ? html`<p>No titles.</p>` : showTitles(shown, codings, threshold, canConfirm)}
      <//>
      <${Pager} last page=${page} pages=${pages} to=${(number: number) => listLink(id, { show, page: number })} />
      <p><a href="/console/code">Another list</a>${canConfirm && html` · <a href="/console/code/confirmed">Confirmed titles</a>`}</p>
      <${PostForm} action=${listLink(id)}><button type="submit" class="danger" name="delete" value="list">Delete this list</button><//>`,
  }
}

const THRESHOLDS = [30, 40, 50, 60, 70, 80, 90].map((percent) => [String(percent), `${percent}%`] as const)

/** A sentence about what was stored, made from the numbers in the URL. */
function describeSaved(query: URLSearchParams): string | undefined {
  const [stored, disputed] = ['stored', 'disputed'].map((name) => Number(query.get(name) ?? Number.NaN))
  if (Number.isInteger(stored)) {
    const others = disputed ? `; other reviewers disagree about ${count(disputed, 'title')}` : ''
    return `${count(stored ?? 0, 'decision')} stored${others}. Confirmed titles become names of the search when the catalogue next changes.`
  }
  return query.has('saved') ? 'Saved.' : undefined
}

function noSuchList(): Shown {
  return {
    title: 'No such list',
    status: 404,
    content: html`<h1>No such list</h1>
      <p>This list was deleted, or belongs to somebody else. <a href="/console/code">Your lists</a></p>`,
  }
}

/** Stores the choices of a page, and then does what its button says. */
async function saveList(context: Context): Promise<Outcome> {
  const { request, query, principal, services } = context
  const form = await readForm(request)
  const id = idOf(context)
  if (form.has('delete')) {
    await services.drafts.delete(principal, id)
    return { redirect: '/console/code' }
  }
  const saved = await services.drafts.change<TitleList>(principal, id, (list) => takeChoices(list, form))
  if (saved === undefined) return noSuchList()
  const unchosen = saved.titles.find(
    (each, index) => form.has(`reviewed-${index}`) && isOpen(each, saved.threshold),
  )
  if (unchosen !== undefined)
    throw new FormFault(
      `Choose an occupation, or “None of these”, for “${unchosen.title}” before it is reviewed.`,
    )
  if (form.has('download')) return download(saved)
  const at = { show: query.get('show') ?? undefined, page: query.get('page') ?? undefined }
  if (form.has('confirm')) {
    const reviewed = saved.titles.filter((each) => each.reviewed && !each.confirmed)
    if (reviewed.length === 0) throw new FormFault('No title is marked as reviewed. Nothing was confirmed.')
    const decisions = reviewed.map((each) => ({
      title: each.title,
      occupationCode: codeOf(each, saved.threshold) || undefined,
    }))
    const { stored, disputed } = await confirm(context, decisions)
    const done = new Set(reviewed.map(({ title }) => title))
    await services.drafts.change<TitleList>(principal, id, (list) => ({
      ...list,
      titles: list.titles.map((each) => (done.has(each.title) ? { ...each, confirmed: true } : each)),
    }))
    return { redirect: listLink(id, { ...at, stored, disputed }) }
  }
  if (request.headers.accept === 'application/json') return { data: { saved: true } }
  return { redirect: listLink(id, { ...at, page: form.get('next') ?? at.page, saved: 'yes' }) }
}

/** The list with what the form of a page has chosen. Fields name a title by its place in the list. */
function takeChoices(list: TitleList, form: URLSearchParams): TitleList {
  const threshold = Number(form.get('threshold') ?? list.threshold)
  const titles = list.titles.map((each, index): ListedTitle => {
    const other = form.get(`other-${index}`)?.trim()
    const chosen = other || form.get(`choice-${index}`)
    if (chosen === null || chosen === undefined) return each
    const { choice: _choice, reviewed: _reviewed, confirmed, ...rest } = each
    // What is taken because it is certain enough is no choice, so that a new threshold decides about it again.
    const isChoice = isOpen(rest, list.threshold) || chosen !== codeOf(rest, list.threshold)
    return {
      ...rest,
      ...((isChoice || form.has(`reviewed-${index}`)) && { choice: chosen }),
      ...(form.has(`reviewed-${index}`) && { reviewed: true }),
      ...(confirmed && chosen === each.choice && { confirmed }),
    }
  })
  const isOffered = THRESHOLDS.some(([value]) => Number(value) === threshold)
  return { ...list, titles, ...(isOffered && { threshold }) }
}

function download({ lines, titles, threshold }: TitleList): Outcome {
  const byKey = new Map(titles.map((each) => [keyOf(each.title), each]))
  const rows = lines.map((line) => {
    const title = byKey.get(keyOf(line))
    return [line, title && codeOf(title, threshold), title?.certainty.toFixed(2)]
  })
  return {
    download: 'coded-titles.csv',
    type: 'text/csv; charset=utf-8',
    body: stringify([['title', 'occupationCode', 'certainty'], ...rows], {
      bom: true,
      escape_formulas: true,
    }),
  }
}

interface ChoiceProperties {
  readonly name: string
  readonly value: string
  readonly chosen: string | undefined
  readonly children: ComponentChildren
}

function Choice({ name, value, chosen, children }: ChoiceProperties): VNode {
  return html`<label class="choice">
    <input type="radio" name=${name} value=${value} checked=${value === chosen} />${' '}<span>${children}</span>
  </label>`
}

const COLUMNS = ['Title', { name: 'Certainty', number: true }, 'Occupation']

function showTitles(
  titles: readonly (ListedTitle & { readonly index: number })[],
  codings: readonly (Coding | undefined)[],
  threshold: number,
  canConfirm: boolean,
): VNode {
  const columns = canConfirm ? [...COLUMNS, 'Review'] : COLUMNS
  return html`<${Table} region class="cards" label="Titles and codes" columns=${columns} data-choices>
    ${titles.map((each, at) => showTitle(each, codings[at], threshold, canConfirm))}
  <//>`
}

function showTitle(
  listed: ListedTitle & { readonly index: number },
  coding: Coding | undefined,
  threshold: number,
  canConfirm: boolean,
): VNode {
  const { title, certainty, choice, reviewed, confirmed, index } = listed
  if (title.length > LONGEST_TITLE)
    return html`<tr>
      <th scope="row">${shorten(title)}…</th>
      <td></td>
      <td colspan=${canConfirm ? 2 : 1} class="soft">Not coded: it has ${formatNumber(title.length)} characters; at most ${LONGEST_TITLE} are allowed.</td>
    </tr>`
  const candidates = coding?.candidates ?? []
  const group = coding?.group?.nameEnglish
  const name = `choice-${index}`
  const chosen = isOpen(listed, threshold) ? undefined : codeOf(listed, threshold)
  const isOther = choice && candidates.every(({ occupationCode }) => occupationCode !== choice)
  return html`<tr>
    <th scope="row">${title}</th>
    <td class="number">${Math.round(certainty * 100)}%</td>
    <td><fieldset>
      <legend class="visually-hidden">Occupation for ${title}</legend>
      ${candidates.slice(0, 3).map(
        ({ occupationCode = '', titleEnglish, certainty = 0 }, place) => html`<div class="candidate">
          <${Choice} name=${name} value=${occupationCode} chosen=${chosen}>
            ${place + 1}. ${titleEnglish ?? occupationCode} <span class="soft">${occupationCode}, ${Math.round(certainty * 100)}%</span>
          <//>
          ${' '}<a class="soft" href=${occupationLink(occupationCode)}>open<span class="visually-hidden"> ${titleEnglish ?? occupationCode}</span></a>
        </div>`,
      )}
      <div>
        <${Choice} name=${name} value="" chosen=${chosen}>
          None of these${group !== undefined && html` <span class="soft">(group: ${group})</span>`}
        <//>
      </div>
    </fieldset></td>
    ${
      canConfirm &&
      html`<td>
        <label class="choice"><input type="checkbox" name=${`reviewed-${index}`} value="yes" checked=${reviewed === true} /> <span>${confirmed === true ? 'Confirmed' : 'Reviewed'}<span class="visually-hidden">: ${title}</span></span></label>
        <label class="soft">Other code<span class="visually-hidden"> for ${title}</span>
          <input name=${`other-${index}`} value=${isOther ? choice : ''} maxlength="64" size="10" />
        </label>
      </td>`
    }
  </tr>`
}

const shorten = (text: string): string => text.slice(0, 60)
