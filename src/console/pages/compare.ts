import type { OccupationSearchPage } from '../../../client/src/types.ts'
import type { Api } from '../api.ts'
import { type Context, get, type Route, type Shown } from '../context.ts'
import { Field } from '../fields.ts'
import { html, type VNode } from '../html.ts'
import { link, occupationLink } from '../links.ts'
import { describeBasis, payChart, payScale, payTable, readAmounts } from '../pay.ts'
import { isCode, nameOf, type Occupation, type OccupationPage, primaryGroup } from '../records.ts'
import { type Column, table } from '../table.ts'
import { showValue } from './changes.ts'
import { isGuessed } from './occupations.ts'

export const comparePages: readonly Route[] = [get('/compare', compare)]

const MOST = 4

const comparisonLink = (codes: readonly string[]): string =>
  link('/console/compare', { code: codes.join(',') || undefined })

const showRemoval = (codes: readonly string[], code: string, name: string): VNode =>
  html`<a class="soft" href=${comparisonLink(codes.filter((each) => each !== code))}>remove<span class="visually-hidden"> ${name}</span></a>`

/** The occupations that a search offers to add. */
const OFFERED = 8

async function compare(context: Context): Promise<Shown> {
  const { api, query } = context
  const listed = query.getAll('code').flatMap((each) => each.split(','))
  const codes = [...new Set(listed.map((each) => each.trim()))].filter((code) => code !== '')
  const heading = html`<h1>Compare occupations</h1>`
  if (codes.length > MOST)
    return {
      title: 'Compare occupations',
      content: html`${heading}
        <p class="problem">At most ${MOST} occupations can be compared, and ${codes.length} are chosen. Remove ${codes.length - MOST}:</p>
        <ul>${codes.map((code) => html`<li>${code} ${showRemoval(codes, code, code)}</li>`)}</ul>`,
    }
  const adding = codes.length < MOST && (await showAdding(api, query, codes))
  if (codes.length === 0)
    return {
      title: 'Compare occupations',
      content: html`${heading}<p>No occupation is chosen. Find the first of up to ${MOST}:</p>${adding}`,
    }
  const page = await api.call<OccupationPage>('/occupations', {
    query: { 'Filter.Codes': codes.filter(isCode).join(','), Limit: codes.length },
  })
  const byCode = new Map((page.data ?? []).map((record) => [record.occupationCode, record]))
  const records = codes.flatMap((code) => byCode.get(code) ?? [])
  const missing = codes.filter((code) => !byCode.has(code))
  const pays = records.map(({ renumeration }) => renumeration)
  const scale = payScale(pays)
  const amounts = await readAmounts(api)
  const charts = pays.map((pay) => (pay === undefined ? 'not known' : payChart(pay, scale, amounts)))
  const texts = FIELDS.map(({ read, ...field }) => {
    const values = records.map(read)
    return { ...field, values, cells: values.map(showValue) }
  })
  const rows: readonly Row[] = [{ label: 'Pay', values: pays, cells: charts }, ...texts]
  const known = rows.filter(({ values }) => values.some((value) => value !== undefined))
  const ordered = [...known.filter(differs), ...known.filter((row) => !differs(row))]
  const columns = records.map((record, at): Column<Row> => {
    const { occupationCode: code = '' } = record
    const name = nameOf(record)
    return [
      html`<a href=${occupationLink(code)}>${name}</a> ${showRemoval(codes, code, name)}`,
      ({ language, cells }) =>
        language === undefined ? cells[at] : html`<div lang=${language}>${cells[at]}</div>`,
      { label: name },
    ]
  })
  return {
    title: `Compare ${records.map(nameOf).join(', ') || 'occupations'}`,
    content: html`${heading}${adding}
      ${missing.length > 0 && html`<p class="problem">No such occupation: ${missing.join(', ')}.</p>`}
      ${
        records.length > 0 &&
        html`${table<Row>(
          'Comparison',
          ordered,
          [['', ({ label }) => label, { hidden: 'Field' }], ...columns],
          {
            caption: records.length > 1 ? 'Rows that differ come first.' : undefined,
            class: 'comparison cards',
            row: (row) => (differs(row) ? { class: 'differs' } : {}),
          },
        )}
        <details>
          <summary>Pay as a table</summary>
          <p>${describeBasis(amounts)}</p>
          ${payTable(
            records.map((record) => ({ name: nameOf(record), pay: record.renumeration })),
            amounts,
          )}
        </details>`
      }`,
  }
}

/** A search for another occupation, and what it has found. */
async function showAdding(api: Api, query: URLSearchParams, codes: readonly string[]): Promise<VNode> {
  const words = query.get('q')?.trim() ?? ''
  const { results = [] } =
    words === ''
      ? {}
      : await api.call<OccupationSearchPage>('/occupations/search', { query: { q: words, Limit: OFFERED } })
  const offered = results.filter(({ occupationCode = '' }) => !codes.includes(occupationCode))
  return html`<form class="row" role="search" method="get" action="/console/compare">
      ${codes.length > 0 && html`<input type="hidden" name="code" value=${codes.join(',')} />`}
      <${Field} class="grow" name="q" label="Find an occupation to compare" type="search" value=${words} required />
      <button type="submit">Search</button>
    </form>
    ${words !== '' && offered.length === 0 && html`<p role="status">No other occupation is named “${words}”. Try fewer or more general words.</p>`}
    ${offered.length > 0 && isGuessed(results) && html`<p role="status">No occupation is named “${words}”. Nearest:</p>`}
    ${
      offered.length > 0 &&
      html`<ul>${offered.map((each) => {
        const name = nameOf(each)
        const { occupationCode: code = '' } = each
        return html`<li>${name} <a href=${comparisonLink([...codes, code])}>add<span class="visually-hidden"> ${name}</span></a></li>`
      })}</ul>`
    }`
}

interface Row {
  readonly label: string
  readonly language?: string
  /** The value of each occupation, and how it is shown. */
  readonly values: readonly unknown[]
  readonly cells: readonly (VNode | string)[]
}

const differs = ({ values }: Row): boolean => new Set(values.map((value) => JSON.stringify(value))).size > 1

interface Compared {
  readonly label: string
  readonly language?: string
  readonly read: (record: Occupation) => unknown
}

const FIELDS: readonly Compared[] = [
  { label: 'Group', read: (record) => primaryGroup(record)?.nameEnglish },
  { label: 'Title in te reo Māori', language: 'mi', read: ({ titleMaori }) => titleMaori },
  { label: 'Also known as', read: ({ altJobTitlesEnglish }) => altJobTitlesEnglish },
  { label: 'Description', read: ({ descriptionEnglish }) => descriptionEnglish },
  { label: 'Description in te reo Māori', language: 'mi', read: ({ descriptionMaori }) => descriptionMaori },
  { label: 'Tasks', read: ({ detailedWorkActivitiesEnglish }) => detailedWorkActivitiesEnglish },
  { label: 'Training', read: ({ trainingDuration }) => trainingDuration },
  { label: 'Entry requirements', read: ({ entryRequirements }) => entryRequirements?.entrySummaryEnglish },
  { label: 'You need', read: ({ entryRequirements }) => entryRequirements?.entryYouNeedEnglish },
  { label: 'Registration', read: ({ registrationAuthority }) => registrationAuthority?.nameEnglish },
]
