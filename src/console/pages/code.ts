import type * as types from '../../../client/src/types.ts'
import { hasLeft } from '../../api/request/has-left.ts'
import { Problem } from '../../api/request/problems.ts'
import { markTransfer } from '../../api/request/transfers.ts'
import { renderForSpreadsheets } from '../../engines/records/index.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { findTextFault } from '../../foundation/text/normalise.ts'
import type { Api } from '../api.ts'
import { ASSETS } from '../assets.ts'
import { absent, type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import type { Draft } from '../drafts.ts'
import { FormFault } from '../faults.ts'
import { Field, Select } from '../fields.ts'
import { orMalformed, readForm, readUpload } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, occupationLink, type Query } from '../links.ts'
import { inBatches, readPage, showPager } from '../lists.ts'
import { Filters, PostForm } from '../post-form.ts'
import { isCode, nameOf, type OccupationPage } from '../records.ts'
import { type Column, sortRows, table } from '../table.ts'
import { showTime } from '../time.ts'
import {
  type Candidate,
  certaintyOf,
  keyOf,
  type ListedTitle,
  occupationOf,
  stateOf,
  type TitleList,
} from '../title-list.ts'
import { decode, type Layout, listColumns, proposeLayout, readTable } from '../title-table.ts'
import { CONFIRM_SCOPE, confirm } from './confirmed.ts'

/** A text coded by `/v1/codings`. */
interface Coding {
  readonly candidates: readonly Candidate[]
  readonly group?: types.CodingGroup
}

/** The most texts per request. */
const BATCH = 300
/** The most codes that are looked up per request. */
const MOST_CODES = 100
/** The most rows per list. */
const MOST = 3_000
/** The largest form with a file, in bytes. */
const MOST_BYTES = 1_000_000
const FOR_LONGER = 'For longer lists use "mahi occupations code".'
/** The longest title that can be coded, in characters. */
const LONGEST_TITLE = 300
/** The titles of a page: more of them take too long to render in one go. */
const PAGE_SIZE = 200
/** From which certainty on a code is taken at first: where it is more likely right than wrong. */
const THRESHOLD = 50

export const codePages: readonly Route[] = [
  get('/code', showForms),
  post('/code', createList, showForms),
  get('/code/lists/:list', showList),
  post('/code/lists/:list', saveList, showList),
]

const listLink = (id: string, more: Query = {}): string =>
  link(`/console/code/lists/${encodeURIComponent(id)}`, more)

async function showForms({ services, principal }: Context): Promise<Shown> {
  const lists = await services.drafts.list<TitleList>(principal)
  return {
    title: 'Code my list',
    content: html`<h1>Code my list</h1>
      <p>Paste job titles, one a line, or a table with a column of them. Each gets the occupation code that fits best, with how certain that is and the next best choices.</p>
      <${PostForm} action="/console/code">
        <${Field} name="titles" label="Job titles" rows=${12} required spellcheck=${false} />
        <button type="submit">Find the codes</button>
      <//>
      <${PostForm} class="row" action="/console/code" enctype="multipart/form-data">
        <${Field} name="file" label="Or a text or CSV file" type="file" required accept=".txt,.csv,.tsv,text/plain,text/csv" />
        <button type="submit" class="quiet">Code the file</button>
      <//>
      ${lists.length > 0 && showLists(lists)}`,
  }
}

function showLists(lists: readonly Draft<TitleList>[]): VNode {
  return html`<h2>Your lists</h2>
    <p class="soft">A list is kept for 30 days after its last change. Only you see it.</p>
    ${table('Your lists', lists, [
      ['List', ({ id, content }) => html`<a href=${listLink(id)}>${content.name}</a>`],
      ['Titles', ({ content }) => content.count, 'number'],
      ['To choose', ({ content }) => countStates(content).open, 'number'],
      ['Begun', ({ content }) => showTime(content.begun)],
      ['Changed', ({ changed }) => showTime(new Date(changed).toISOString())],
    ])}`
}

async function createList(context: Context): Promise<Outcome> {
  const { request } = context
  if (request.isMultipart()) {
    const { filename, content } = await readFile(context)
    const text = decode(content)
    return { redirect: await codeList(context, text, { name: filename, field: 'file' }) }
  }
  const text = (await readForm(request)).get('titles') ?? ''
  return { redirect: await codeList(context, text, { field: 'titles' }) }
}

/** The file of the form, read as a whole. */
async function readFile({ request, reply }: Context): Promise<{ filename: string; content: Buffer }> {
  const field = 'file'
  if (Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) > MOST_BYTES) {
    // The rest of it is not read.
    reply.header('connection', 'close')
    throw new FormFault(`The file is larger than 1 MB. ${FOR_LONGER}`, { field, status: 413 })
  }
  markTransfer(request.raw)
  const { file } = await readUpload(request)
  if (file === undefined || file.filename === '') throw new FormFault('Choose a file.', { field })
  request.server.inFlight.hold(request, Number(request.headers['content-length']))
  return { filename: file.filename, content: await orMalformed(() => file.toBuffer()) }
}

/**
 * Codes the titles of a text, and stores them as a new list.
 *
 * @param layout how the titles are found; proposed without one
 * @returns the path of the list
 * @throws {FormFault} if it has no titles or too many rows
 */
async function codeList(
  context: Context,
  text: string,
  { name, field, layout = proposeLayout(text) }: { name?: string; field: string; layout?: Layout },
): Promise<string> {
  const { principal, services } = context
  const lines = readTable(text, layout).titles
  const given = lines.filter((title) => title !== '')
  const [first] = given
  if (first === undefined)
    throw new FormFault('There are no titles. A list has one on each line, or in a column.', { field })
  if (lines.length > MOST)
    throw new FormFault(
      `The list has ${formatNumber(lines.length)} rows; at most ${formatNumber(MOST)} are allowed. ${FOR_LONGER}`,
      { field },
    )
  const different = [...new Map(given.map((title) => [keyOf(title), title])).values()]
  const titles = await code(context, different)
  // Those without a candidate leave nothing to choose.
  const rank = (each: ListedTitle) => (each.candidates.length === 0 ? 2 : certaintyOf(each))
  const list: TitleList = {
    name: name ?? `${first.slice(0, 60)} …`,
    begun: new Date().toISOString(),
    text,
    layout,
    count: given.length,
    titles: titles.toSorted((one, other) => rank(one) - rank(other)),
    threshold: THRESHOLD,
  }
  return listLink(await services.drafts.create(principal, list))
}

/** The titles with their candidates, in their order. One that cannot be coded says why. */
async function code({ api, request }: Context, titles: readonly string[]): Promise<readonly ListedTitle[]> {
  const codable = titles.filter((title) => findTitleFault(title) === undefined)
  const codings = new Map<string, Coding>()
  for (const batch of inBatches(codable, BATCH)) {
    if (hasLeft(request)) throw new Problem('unavailable', 'The user has left.')
    const body = { items: batch.map((title) => ({ title })) }
    const { items } = await api.call<{ items: readonly Coding[] }>('/codings', { method: 'POST', body })
    for (const [index, coding] of items.entries()) codings.set(batch[index] ?? '', coding)
  }
  return titles.map((title) => {
    const { candidates = [], group } = codings.get(title) ?? {}
    const fault = findTitleFault(title)
    return { title, ...(fault !== undefined && { fault }), candidates, group: group?.nameEnglish }
  })
}

/** Why the API would refuse a title, and the others with it. */
function findTitleFault(title: string): string | undefined {
  const { length } = [...title]
  if (length <= LONGEST_TITLE) return findTextFault(title)
  return `has ${formatNumber(length)} characters; at most ${LONGEST_TITLE} are allowed`
}

const idOf = ({ params: { list = '' } }: Context): string => list

const FILTERS = { open: 'To choose', coded: 'With a code', none: 'Without a code' } as const

const countStates = ({ titles, threshold }: TitleList) => {
  const states = titles.map((each) => stateOf(each, threshold))
  const numberOf = (state: keyof typeof FILTERS) => states.filter((each) => each === state).length
  return { open: numberOf('open'), coded: numberOf('coded'), none: numberOf('none') }
}

/** How far a list is, in a sentence. */
function describe(list: TitleList): string {
  const { open, coded, none } = countStates(list)
  const different = list.titles.length < list.count && `, ${formatNumber(list.titles.length)} different`
  return `${count(list.count, 'title')}${different || ''}: ${formatNumber(open)} to choose, ${formatNumber(coded)} with a code, ${formatNumber(none)} without one.`
}

/** Rows of a page that cannot be saved as they were sent: a sentence for each, by the place of its title. */
class RowFault extends FormFault {
  readonly rows: ReadonlyMap<number, string>

  constructor(rows: ReadonlyMap<number, string>) {
    const [first = ''] = rows.values()
    super(rows.size === 1 ? first : `${count(rows.size, 'row')} could not be saved. The others are saved.`)
    this.rows = rows
  }
}

/** A row of a page, with what is wrong with it, and what was typed into it. */
interface Row extends ListedTitle {
  readonly index: number
  readonly wrong: string | undefined
  readonly typed: string | undefined
}

async function showList(context: Context): Promise<Shown> {
  const { query, principal, services, refused } = context
  const canConfirm = principal.scopes.has(CONFIRM_SCOPE)
  const id = idOf(context)
  const list = await services.drafts.find<TitleList>(principal, id)
  if (list === undefined) return noSuchList()
  const { titles, threshold } = list
  const show = query.get('show') ?? ''
  const sort = query.get('sort') ?? undefined
  const wrong = refused?.fault instanceof RowFault ? refused.fault.rows : new Map<number, string>()
  const all = titles
    .map((title, index): Row => {
      const typed = refused?.values.get(`other-${index}`) ?? undefined
      const isReviewed = refused?.values.has(`reviewed-${index}`) ?? false
      return { ...title, ...(isReviewed && { reviewed: true }), index, wrong: wrong.get(index), typed }
    })
    .filter((each) => show === '' || show === stateOf(each, threshold) || each.wrong !== undefined)
  const columns = columnsOf(threshold, canConfirm)
  const listed = sortRows(context, all, columns)
  const firstWrong = listed.findIndex((each) => each.wrong !== undefined)
  const page = firstWrong < 0 ? readPage(query) : Math.floor(firstWrong / PAGE_SIZE) + 1
  const shown = listed.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  const pages = Math.ceil(listed.length / PAGE_SIZE)
  const reviewed = titles.filter((each) => each.reviewed && !each.confirmed).length
  return {
    title: 'Coded list',
    content: html`<h1>Coded list</h1>
      ${wrong.size > 0 && html`<p class="problem">To correct: ${Array.from(wrong.keys(), (index, at) => html`${at > 0 && ', '}<a href=${`#title-${index}`}>${titles[index]?.title}</a>`)}</p>`}
      <p>${list.name}</p>
      ${showLayout(id, list)}
      <p class="verdict" data-verdict>${describe(list)}</p>
      <${Filters} action=${listLink(id)} keep=${{ sort }}>
        <${Select} name="show" label="Titles" all="All, the least certain first" value=${show} options=${Object.entries(FILTERS)} />
      <//>
      <p class="soft">${canConfirm && 'A choice is to be confirmed if it is marked as reviewed. Confirmed titles become names of the search. '}What you choose is kept${' '}<span data-saved>when you save</span>.</p>
      <p class="soft" data-keys hidden>In a row, the keys 1, 2 and 3 choose, 0 chooses none, and C leads to the field for another code.${canConfirm && ' A accepts the choice that is marked. Each of these keys but C marks the row as reviewed, too.'}</p>
      <script type="module" src=${`${ASSETS}/choices.js`}></script>
      <${PostForm} action=${listLink(id, { show, sort, page })} data-save>
        ${showTitles(context, shown, columns)}
        <div class="actions">
          <button type="submit">Save</button>
          ${page < pages && html`<button type="submit" class="quiet" name="next" value=${page + 1}>Save and next page</button>`}
          ${canConfirm && html`<button type="submit" class="quiet" name="confirm" value="reviewed">Confirm the reviewed titles${reviewed > 0 && ` (${formatNumber(reviewed)} saved)`}</button>`}
          <button type="submit" class="quiet" name="download" value="csv">Download as CSV</button>
          <${Select} name="threshold" label="Certain enough from" value=${String(threshold)} options=${THRESHOLDS} />
        </div>
      <//>
      ${showPager(context, pages, page)}
      <p><a href="/console/code">Another list</a>${canConfirm && html` · <a href="/console/code/confirmed">Confirmed titles</a>`}</p>
      <${PostForm} action=${listLink(id)}><button type="submit" class="danger" name="delete" value="list">Delete this list</button><//>`,
  }
}

/** Where the titles of a list were found, which a person can change. */
function showLayout(id: string, { text, layout }: TitleList): VNode {
  const columns = listColumns(text, layout).map((name, index) => [String(index), name] as const)
  return html`<${PostForm} class="row" action=${listLink(id)} keep=${{ layout: 'other' }} data-live>
    ${columns.length > 0 && html`<${Select} name="column" label="The titles are" all="Whole lines" value=${String(layout.column ?? '')} options=${columns.map(([value, name]) => [value, `In the column ${name}`])} />`}
    <label class="choice"><input type="checkbox" name="header" value="yes" checked=${layout.hasHeader} /> <span>The first line is a heading</span></label>
    <noscript><button type="submit" class="quiet">Read the list again</button></noscript>
  <//>`
}

const THRESHOLDS = [30, 40, 50, 60, 70, 80, 90].map((percent) => [String(percent), `${percent}%`] as const)

/** What was confirmed, in a sentence. */
function describeStored({ stored, disputed }: { stored: number; disputed: number }): string {
  const others = disputed > 0 ? `; other reviewers disagree about ${count(disputed, 'title')}` : ''
  return `${count(stored, 'decision')} stored${others}. Confirmed titles become names of the search when the catalogue next changes.`
}

const noSuchList = (): Shown =>
  absent(
    'No such list',
    html`This list was deleted, or belongs to somebody else. <a href="/console/code">Your lists</a>`,
  )

/** Stores the choices of a page, and then does what its button says. */
async function saveList(context: Context): Promise<Outcome> {
  const { request, query, principal, services } = context
  const form = await readForm(request)
  const id = idOf(context)
  if (form.has('delete')) {
    await services.drafts.delete(principal, id)
    return { redirect: '/console/code' }
  }
  if (form.has('layout')) return await readAgain(context, id, form)
  const known = await findOccupations(context.api, form)
  const saved = await services.drafts.change<TitleList>(principal, id, (list) =>
    takeChoices(list, form, known),
  )
  if (saved === undefined) return noSuchList()
  const wrong = findWrong(saved, form)
  if (wrong.size > 0) throw new RowFault(wrong)
  if (form.has('download')) return download(saved)
  const [show, sort, page] = ['show', 'sort', 'page'].map((name) => query.get(name) ?? undefined)
  const at = { show, sort, page }
  if (form.has('confirm')) {
    const reviewed = saved.titles.filter((each) => each.reviewed && !each.confirmed)
    if (reviewed.length === 0) throw new FormFault('No title is marked as reviewed. Nothing was confirmed.')
    const decisions = reviewed.map((each) => ({
      title: each.title,
      occupationCode: occupationOf(each, saved.threshold)?.occupationCode,
    }))
    const confirmed = await confirm(context, decisions)
    const done = new Set(reviewed.map(({ title }) => title))
    await services.drafts.change<TitleList>(principal, id, (list) => ({
      ...list,
      titles: list.titles.map((each) => (done.has(each.title) ? { ...each, confirmed: true } : each)),
    }))
    return { redirect: listLink(id, at), notice: describeStored(confirmed) }
  }
  if (request.headers.accept === 'application/json') return { data: { verdict: describe(saved) } }
  return { redirect: listLink(id, { ...at, page: form.get('next') ?? at.page }), notice: 'Saved.' }
}

/** Codes the titles of another column as a new list. The one before stays if something was chosen in it. */
async function readAgain(context: Context, id: string, form: URLSearchParams): Promise<Outcome> {
  const { drafts } = context.services
  const list = await drafts.find<TitleList>(context.principal, id)
  if (list === undefined) return noSuchList()
  const column = form.get('column') ?? ''
  const layout = { ...(column !== '' && { column: Number(column) }), hasHeader: form.has('header') }
  const redirect = await codeList(context, list.text, { name: list.name, field: 'column', layout })
  const isUntouched = list.titles.every(
    ({ choice, reviewed }) => choice === undefined && reviewed === undefined,
  )
  if (isUntouched) await drafts.delete(context.principal, id)
  return { redirect }
}

/** The occupations of the codes that were typed, as far as the catalogue has them. */
async function findOccupations(api: Api, form: URLSearchParams): Promise<ReadonlyMap<string, Candidate>> {
  const typed = [...form].filter(([name]) => name.startsWith('other-')).map(([, value]) => value.trim())
  const codes = [...new Set(typed)].filter(isCode)
  const found = new Map<string, Candidate>()
  for (const batch of inBatches(codes, MOST_CODES)) {
    const { data = [] } = await api.call<OccupationPage>('/occupations', {
      query: {
        'Filter.Codes': batch.join(','),
        Fields: 'occupationCode,titleEnglish,titleMaori',
        Limit: batch.length,
      },
    })
    for (const record of data) {
      const occupationCode = record.occupationCode ?? ''
      found.set(occupationCode, { occupationCode, titleEnglish: nameOf(record) })
    }
  }
  return found
}

/** The code that was typed into the row of a title, if it is another one than before. */
function typedCode({ choice }: ListedTitle, index: number, form: URLSearchParams): string | undefined {
  const typed = form.get(`other-${index}`)?.trim()
  return typed === '' || typed === choice?.occupationCode ? undefined : typed
}

/**
 * The list with what the form of a page has chosen. Fields name a title by its place in the list.
 *
 * @param known the occupations of the codes that were typed
 */
function takeChoices(
  list: TitleList,
  form: URLSearchParams,
  known: ReadonlyMap<string, Candidate>,
): TitleList {
  const threshold = Number(form.get('threshold') ?? list.threshold)
  const titles = list.titles.map((each, index): ListedTitle => {
    const [kept, radio] = ['other', 'choice'].map((name) => form.get(`${name}-${index}`)?.trim())
    if (kept === undefined && radio === undefined) return each
    const { choice: before, reviewed: _reviewed, confirmed, ...rest } = each
    const code = typedCode(each, index, form) ?? radio ?? kept ?? ''
    const found = known.get(code)
    const offered = rest.candidates.find(({ occupationCode }) => occupationCode === code)
    const chosen = offered ?? found ?? (radio === '' && code === '' ? null : undefined)
    if (code !== '' && chosen === undefined) return each
    // What is taken because it is certain enough is no choice, so that a new threshold decides about it again.
    const taken = occupationOf(rest, list.threshold)?.occupationCode
    const isReviewed = form.has(`reviewed-${index}`)
    const isChoice = isReviewed || taken === undefined || chosen?.occupationCode !== taken
    const next = { ...rest, ...(isChoice && chosen !== undefined && { choice: chosen }) }
    return {
      ...next,
      ...(isReviewed && stateOf(next, threshold) !== 'open' && { reviewed: true }),
      ...(confirmed && chosen?.occupationCode === before?.occupationCode && { confirmed }),
    }
  })
  const isOffered = THRESHOLDS.some(([value]) => Number(value) === threshold)
  return { ...list, titles, ...(isOffered && { threshold }) }
}

/** The rows of a form that could not be saved, with why. */
function findWrong({ titles, threshold }: TitleList, form: URLSearchParams): ReadonlyMap<number, string> {
  const wrong = new Map<number, string>()
  for (const [index, each] of titles.entries()) {
    const typed = typedCode(each, index, form)
    if (typed !== undefined && typed !== occupationOf(each, threshold)?.occupationCode)
      wrong.set(
        index,
        `The code for “${each.title}” is ${JSON.stringify(typed)}, which the catalogue does not have.`,
      )
    else if (form.has(`reviewed-${index}`) && stateOf(each, threshold) === 'open')
      wrong.set(index, `Choose an occupation, or “None of these”, for “${each.title}” before it is reviewed.`)
  }
  return wrong
}

/** The rows of the list as they were given, each with the occupation of its title. */
function download({ text, layout, titles, threshold }: TitleList): Outcome {
  const byKey = new Map(titles.map((each) => [keyOf(each.title), each]))
  const table = readTable(text, layout)
  const rows = table.rows.map((row, at) => {
    const listed = byKey.get(keyOf(table.titles[at] ?? ''))
    const given = listed && occupationOf(listed, threshold)
    const coded = [given?.occupationCode, given?.titleEnglish, given?.certainty?.toFixed(2)]
    return [...table.names.map((_, index) => row[index] ?? ''), ...coded.map((cell) => cell ?? '')]
  })
  const head = [...table.names, 'occupationCode', 'occupationTitle', 'certainty']
  return {
    download: 'coded-titles.csv',
    type: 'text/csv; charset=utf-8',
    body: `\ufeff${renderForSpreadsheets([head, ...rows])}`,
  }
}

function columnsOf(threshold: number, canConfirm: boolean): readonly Column<Row>[] {
  const review: Column<Row> = ['Review', showReview]
  return [
    [
      'Title',
      (row) =>
        html`${shortTitle(row)}${row.wrong !== undefined && html`<div class="error" id=${`wrong-${row.index}`}>${row.wrong}</div>`}`,
      { sort: ({ title }) => title },
    ],
    [
      'Occupation',
      (row) => showChoices(row, threshold),
      { sort: (row) => occupationOf(row, threshold)?.titleEnglish },
    ],
    ...(canConfirm ? [review] : []),
  ]
}

const showTitles = (sortedOn: Context, rows: readonly Row[], columns: readonly Column<Row>[]): VNode =>
  table<Row>('Titles and codes', rows, columns, {
    class: 'choices cards',
    empty: 'No titles.',
    row: ({ index }) => ({ id: `title-${index}` }),
    sortedOn,
  })

const shortTitle = ({ title, fault }: ListedTitle): string =>
  fault === undefined ? title : `${title.slice(0, 60)} …`

function showChoices(row: Row, threshold: number): VNode {
  const { fault, candidates, choice, index, wrong, typed } = row
  const isOther = choice && candidates.every(({ occupationCode }) => occupationCode !== choice.occupationCode)
  const shown = shortTitle(row)
  return html`<fieldset>
    <legend class="visually-hidden">Occupation for ${shown}</legend>
    ${candidates.length > 0 ? showCandidates(row, threshold) : !choice && html`<span class="soft">${fault === undefined ? 'No occupation is like it: it has no code.' : `Not coded: it ${fault}.`}</span>`}
    <label class="choice"><span>Other code<span class="visually-hidden"> for ${shown}</span></span>
      <input name=${`other-${index}`} value=${typed ?? (isOther ? choice.occupationCode : '')} size="8" ...${wrong !== undefined && { 'aria-invalid': 'true', 'aria-describedby': `wrong-${index}` }} />
    </label>
    ${isOther && html`<span>${choice.titleEnglish}</span>`}
  </fieldset>`
}

function showReview({ title, fault, index, reviewed, confirmed }: Row): VNode | false {
  return (
    fault === undefined &&
    html`<label class="choice"><input type="checkbox" name=${`reviewed-${index}`} value="yes" checked=${reviewed === true} /> <span>${confirmed === true ? 'Confirmed' : 'Reviewed'}<span class="visually-hidden">: ${title}</span></span></label>`
  )
}

function showCandidates(row: Row, threshold: number): VNode[] {
  const { candidates, group, index } = row
  const chosen =
    stateOf(row, threshold) === 'open' ? undefined : (occupationOf(row, threshold)?.occupationCode ?? '')
  const choice = (value: string, label: VNode) => html`<label class="choice">
    <input type="radio" name=${`choice-${index}`} value=${value} checked=${value === chosen} />${' '}<span>${label}</span>
  </label>`
  const none = html`None of these${group !== undefined && html` <span class="soft">(group: ${group})</span>`}`
  return [
    ...candidates.map(
      ({ occupationCode: code, titleEnglish = code, certainty = 0 }, place) => html`<div class="candidate">
        ${choice(code, html`${place + 1}. ${titleEnglish} <span class="soft">${code}, ${Math.round(certainty * 100)}%</span>`)}
        ${' '}<a class="soft" href=${occupationLink(code)}>open<span class="visually-hidden"> ${titleEnglish}</span></a>
      </div>`,
    ),
    choice('', none),
  ]
}
