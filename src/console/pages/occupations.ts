import type {
  OccupationMajorGroup,
  OccupationMatch,
  OccupationMinorGroup,
  OccupationSearchPage,
  SearchGroupCount,
} from '../../../client/src/types.ts'
import { count } from '../../foundation/text/format-number.ts'
import type { Api, Having } from '../api.ts'
import { type Context, get, type Route, type Shown } from '../context.ts'
import { Select } from '../fields.ts'
import { html, maori, type VNode } from '../html.ts'
import { link, occupationLink, type Query } from '../links.ts'
import { showNext, showPager } from '../lists.ts'
import { type Amounts, payChart, payScale, readAmounts, showScale } from '../pay.ts'
import { nameOf, type Occupation, type OccupationPage, primaryGroup } from '../records.ts'

/** A result of `/v1/occupations/search`. */
type Match = Having<OccupationMatch, 'occupationCode' | 'matchedName' | 'matchedLanguage' | 'highlights'>

type SearchResponse = Pick<OccupationSearchPage, 'didYouMean'> & {
  readonly totalCount: number
  readonly results: readonly Match[]
  readonly groups: readonly Having<SearchGroupCount, 'code' | 'count'>[]
}

/** From `/v1/occupation-groups`. */
interface Groups {
  readonly majorGroups: readonly Having<OccupationMajorGroup, 'code'>[]
  readonly minorGroups: readonly Having<OccupationMinorGroup, 'code'>[]
}

const PAGE_SIZE = 20
/** Below this probability of the best result, the search has only guessed. */
const LEAST = 0.2
/** Below this probability, results are said to be less likely. */
const UNLIKELY = 0.05
/** The results that are shown then. */
const GUESSED = 5
/** The most pages that the search serves. */
const LAST_PAGE = 10

const LANGUAGES = [
  ['en', 'English'],
  ['mi', 'Te reo Māori'],
] as const

export const occupationsPages: readonly Route[] = [
  get('/occupations', showOccupations),
  get('/suggestions', suggest),
]

async function showOccupations(context: Context): Promise<Shown> {
  const { query } = context
  const words = query.get('q')?.trim() ?? ''
  const group = query.get('group') ?? undefined
  const language = query.get('lang') ?? undefined
  const label = 'Find an occupation'
  // A label that contains the suggestions would name them, too.
  const search = html`<form class="row" role="search" action="/console/occupations" method="get">
    <label class="grow">${label}
      <span class="combobox"><input class="large" type="search" name="q" value=${words} aria-label=${label} autocomplete="off" data-suggest="/console/suggestions" /></span>
    </label>
    <${Select} name="lang" label="Language" all="English and te reo Māori" value=${language} options=${LANGUAGES} />
    ${group !== undefined && html`<input type="hidden" name="group" value=${group} />`}
    <button type="submit">Search</button>
  </form>`
  const shown = words === '' ? await browse(context, group) : await find(context, words)
  return {
    title: words === '' ? 'Occupations' : `${words} – Occupations`,
    content: html`<h1>Occupations</h1>${search}${shown}`,
  }
}

async function find(context: Context, words: string): Promise<VNode> {
  const { api, query } = context
  const page = query.get('page') ?? '1'
  const group = query.get('group') ?? undefined
  const lang = query.get('lang') ?? undefined
  const found = await api.call<SearchResponse>('/occupations/search', {
    query: { q: words, Lang: lang, 'Filter.MajorGroupCode': group, Limit: PAGE_SIZE, Page: page },
  })
  const codes = found.results.map(({ occupationCode }) => occupationCode)
  const [pay, amounts] = await Promise.all([readPay(api, codes), readAmounts(api)])
  const pays = Array.from(pay.values(), ({ renumeration }) => renumeration)
  const scale = payScale(pays)
  const at = Number(page)
  const isGuess = at === 1 && isGuessed(found.results)
  const results = isGuess ? found.results.slice(0, GUESSED) : found.results
  const unlikely = isGuess ? undefined : results.find(({ score = 0 }) => score < UNLIKELY)
  const pages = isGuess ? 1 : Math.min(LAST_PAGE, Math.ceil(found.totalCount / PAGE_SIZE))
  return html`
    <p role="status">${
      found.totalCount === 0
        ? `No occupation is named “${words}”.`
        : isGuess
          ? `No occupation is named “${words}”. Nearest:`
          : `${count(found.totalCount, 'occupation')} may be meant${found.totalCount > 1 ? ', the likeliest first' : ''}.`
    }${
      found.didYouMean !== undefined &&
      html` Did you mean <a href=${link('/console/occupations', { q: found.didYouMean, group, lang })}>${found.didYouMean}</a>?`
    }</p>
    ${
      found.totalCount === 0 &&
      html`<p>Try fewer or more general words, or the other language${group !== undefined && html`, or <a href=${link('/console/occupations', { q: words, lang })}>all groups</a>`}. Or <a href="/console/occupations">browse the groups</a>.</p>`
    }
    <div class="columns">
      <section aria-labelledby="results"><h2 id="results" class="visually-hidden">Results</h2>
      <form method="get" action="/console/compare">
        <ol class="results" start=${(at - 1) * PAGE_SIZE + 1}>
          ${results.map((match) =>
            showMatch(match, pay.get(match.occupationCode), {
              scale,
              amounts,
              isFirstUnlikely: match === unlikely,
            }),
          )}
        </ol>
        ${showScale(pays, amounts)}
        ${results.length > 1 && html`<p><button type="submit" class="quiet">Compare the chosen occupations</button></p>`}
      </form></section>
      ${
        !isGuess &&
        (group !== undefined || found.groups.length > 0) &&
        html`<aside aria-label="Groups">
          <h2>Groups</h2>
          <ul class="facets">
            ${group !== undefined && html`<li><a href=${link('/console/occupations', { q: words, lang })}>All groups</a></li>`}
            ${found.groups.map((each) => showFacet(each, each.count, { q: words, lang }, 'group', group))}
          </ul>
        </aside>`
      }
    </div>
    ${showPager(context, pages)}
  `
}

/** Whether even the best result is improbable: then no occupation is named by the words. */
export function isGuessed([best]: readonly { readonly score?: number }[]): boolean {
  return (best?.score ?? 0) < LEAST
}

/** A group that narrows the list, and the number of its occupations. */
function showFacet(
  { code, nameEnglish }: { readonly code: string; readonly nameEnglish?: string | undefined },
  number: number | undefined,
  query: Query,
  parameter: 'group' | 'minor',
  current: string | undefined,
): VNode {
  const at = link('/console/occupations', { ...query, [parameter]: code })
  return html`<li>
    <a href=${at} aria-current=${code === current ? 'true' : undefined}>${nameEnglish ?? code}</a>
    <span class="soft">${number}</span>
  </li>`
}

/** Reads the pay of all occupations on the page with one request. */
async function readPay(api: Api, codes: readonly string[]): Promise<ReadonlyMap<string, Occupation>> {
  if (codes.length === 0) return new Map()
  const page = await api.call<OccupationPage>('/occupations', {
    query: {
      'Filter.Codes': codes.join(','),
      Fields: 'occupationCode,renumeration,descriptionEnglish',
      Limit: codes.length,
    },
  })
  return new Map((page.data ?? []).map((record) => [record.occupationCode ?? '', record]))
}

function showMatch(
  match: Match,
  record: Occupation | undefined,
  {
    scale,
    amounts,
    isFirstUnlikely,
  }: { scale: readonly [number, number]; amounts: Amounts; isFirstUnlikely: boolean },
): VNode {
  const name = nameOf(match)
  const marked = markRanges(match.matchedName, match.highlights)
  const show = (text: string) => (text === match.matchedName ? marked : text)
  const isTitle = match.matchedName === name || match.matchedName === match.titleMaori
  const matched = match.matchedLanguage === 'mi' ? html`<span lang="mi">${marked}</span>` : marked
  const pay = record?.renumeration
  return html`<li>
    <div>
      ${isFirstUnlikely && html`<p class="soft">Less likely from here on:</p>`}
      <h3><a href=${occupationLink(match.occupationCode)}>${show(name)}</a>${
        match.titleMaori !== undefined &&
        match.titleMaori !== name &&
        html` <span class="soft" lang="mi">${show(match.titleMaori)}</span>`
      }</h3>
      ${!isTitle && html`<p class="soft">Also known as ${matched}</p>`}
      <p>${shorten(record?.descriptionEnglish)}</p>
      <label class="choice soft"><input type="checkbox" name="code" value=${match.occupationCode} /> <span>Compare<span class="visually-hidden"> ${name}</span></span></label>
    </div>
    ${pay !== undefined && payChart(pay, scale, amounts)}
  </li>`
}

/** Marks the matching ranges of a text; they are ordered, in UTF-16 code units. */
function markRanges(text: string, ranges: readonly (readonly number[])[]): (VNode | string)[] {
  const parts: (VNode | string)[] = []
  let at = 0
  for (const [from = 0, to = 0] of ranges) {
    if (from < at || to > text.length) continue
    parts.push(text.slice(at, from), html`<mark>${text.slice(from, to)}</mark>`)
    at = to
  }
  return [...parts, text.slice(at)]
}

function shorten(text: string | undefined): string {
  if (text === undefined || text.length <= 180) return text ?? ''
  return `${text.slice(0, text.lastIndexOf(' ', 180))} …`
}

async function browse(context: Context, group: string | undefined): Promise<VNode> {
  const { api, query } = context
  const minor = query.get('minor') ?? undefined
  const cursor = query.get('cursor') ?? undefined
  const [{ majorGroups: majors, minorGroups }, amounts, page] = await Promise.all([
    api.call<Groups>('/occupation-groups'),
    readAmounts(api),
    api.call<OccupationPage>('/occupations', {
      query: {
        'Filter.MajorGroupCode': group,
        'Filter.MinorGroupCode': minor,
        'Filter.GroupRelation': (group ?? minor) && 'Primary',
        Cursor: cursor,
        Limit: PAGE_SIZE,
      },
    }),
  ])
  // Those of which the chosen major group is the Primary one.
  const minors = minorGroups.filter(({ majorGroups = [] }) =>
    majorGroups.some((each) => each.majorGroupCode === group && each.majorGroupRelationType === 'Primary'),
  )
  const records = page.data ?? []
  const pays = records.map(({ renumeration }) => renumeration)
  const scale = payScale(pays)
  const chosen = minors.find(({ code }) => code === minor) ?? majors.find(({ code }) => code === group)
  return html`<div class="columns">
    <section aria-labelledby="list">
      <h2 id="list">${chosen?.nameEnglish ?? 'All occupations'} <span class="soft">(${page.totalCount ?? 0})</span></h2>
      ${records.length === 0 && html`<p>There are no occupations here yet. The operator imports them with <code>mahi occupations import</code>.</p>`}
      <ul class="results">${records.map(
        (record) => html`<li>
          <div>
            <h3><a href=${occupationLink(record.occupationCode ?? '')}>${nameOf(record)}</a>${
              record.titleMaori !== undefined &&
              record.titleEnglish !== undefined &&
              html` <span class="soft">${maori(record.titleMaori)}</span>`
            }</h3>
            <p>${shorten(record.descriptionEnglish)}</p>
            <p class="soft">${primaryGroup(record)?.nameEnglish}</p>
          </div>
          ${record.renumeration !== undefined && payChart(record.renumeration, scale, amounts)}
        </li>`,
      )}</ul>
      ${showScale(pays, amounts)}
      ${showNext(context, 'cursor', page.nextCursor)}
    </section>
    <aside aria-labelledby="groups">
      <h2 id="groups">Groups</h2>
      <p class="soft">Each occupation is listed and counted in its primary group.</p>
      <ul class="facets">
        ${group !== undefined && html`<li><a href="/console/occupations">All occupations</a></li>`}
        ${majors.map((each) => showFacet(each, each.primaryCount, {}, 'group', minor === undefined ? group : undefined))}
      </ul>
      ${
        minors.length > 0 &&
        html`<h2 id="minor-groups">Minor groups of ${majors.find(({ code }) => code === group)?.nameEnglish ?? group}</h2>
          <ul class="facets" aria-labelledby="minor-groups">
            ${minors.map((each) => showFacet(each, each.primaryCount, { group }, 'minor', minor))}
          </ul>`
      }
    </aside>
  </div>`
}

/** Suggestions for the search box while the user types. */
async function suggest({ api, query }: Context) {
  return { data: await api.call<object>('/occupations/suggestions', { query: { q: query.get('q') ?? '' } }) }
}
