import type { Context, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { occupationLink } from '../links.ts'
import { payChart, payScale, payTable } from '../pay.ts'
import { nameOf, type Occupation, type OccupationPage, primaryGroup } from '../records.ts'
import { Table } from '../table.ts'
import { showValue } from './changes.ts'

export const comparePages: readonly Route[] = [{ method: 'GET', path: '/compare', handle: compare }]

const FEWEST = 2
const MOST = 4

async function compare({ api, query }: Context): Promise<Shown> {
  const codes = [
    ...new Set(
      query
        .getAll('code')
        .flatMap((each) => each.split(','))
        .map((each) => each.trim()),
    ),
  ].filter((code) => code !== '')
  const form = html`<form class="row" method="get" action="/console/compare">
    <label class="grow">Occupation codes, two to four, separated by commas
      <input name="code" value=${codes.join(', ')} required />
    </label>
    <button type="submit">Compare</button>
  </form>`
  if (codes.length < FEWEST || codes.length > MOST) {
    const given = codes.length === 1 ? 'is 1' : `are ${codes.length}`
    return {
      title: 'Compare occupations',
      content: html`<h1>Compare occupations</h1>${form}
        ${codes.length > 0 && html`<p class="problem">Choose from ${FEWEST} to ${MOST} occupations; there ${given}.</p>`}`,
    }
  }
  const page = await api.call<OccupationPage>('/occupations', {
    query: { 'Filter.Codes': codes.join(','), Limit: codes.length },
  })
  const byCode = new Map((page.data ?? []).map((record) => [record.occupationCode, record]))
  const records = codes.flatMap((code) => byCode.get(code) ?? [])
  const missing = codes.filter((code) => !byCode.has(code))
  const names = records.map(nameOf)
  const pays = records.map(({ renumeration }) => renumeration)
  const scale = payScale(pays)
  const columns = [
    { name: 'Field', hidden: true },
    ...records.map((record) => ({
      name: html`<a href=${occupationLink(record.occupationCode ?? '')}>${nameOf(record)}</a>`,
    })),
  ]
  const charts = pays.map((pay) => (pay === undefined ? 'not known' : payChart(pay, scale)))
  const texts = FIELDS.map(({ read, ...field }) => {
    const values = records.map(read)
    return { ...field, values, cells: values.map(showValue) }
  })
  const rows: readonly Row[] = [{ label: 'Pay', values: pays, cells: charts }, ...texts]
  const known = rows.filter(({ values }) => values.some((value) => value !== undefined))
  const ordered = [...known.filter(differs), ...known.filter((row) => !differs(row))]
  return {
    title: `Compare ${names.join(', ')}`,
    content: html`<h1>Compare occupations</h1>${form}
      ${missing.length > 0 && html`<p class="problem">No such occupation: ${missing.join(', ')}.</p>`}
      ${
        records.length > 0 &&
        html`<${Table} region class="comparison cards" label="Comparison" caption="Rows that differ come first." columns=${columns}>
          ${ordered.map(
            (row) => html`<tr class=${differs(row) ? 'differs' : undefined}>
              <th scope="row">${row.label}</th>
              ${row.cells.map((cell, index) => html`<td lang=${row.language} data-label=${names[index]}>${cell}</td>`)}
            </tr>`,
          )}
        <//>
        <details>
          <summary>Pay as a table</summary>
          ${payTable(records.map((record) => ({ name: nameOf(record), pay: record.renumeration })))}
        </details>`
      }`,
  }
}

interface Row {
  readonly label: string
  readonly language?: string
  /** The value of each occupation, and how it is shown. */
  readonly values: readonly unknown[]
  readonly cells: readonly (VNode | string)[]
}

const differs = ({ values }: Row): boolean => new Set(values.map((value) => JSON.stringify(value))).size > 1

interface Field {
  readonly label: string
  readonly language?: string
  readonly read: (record: Occupation) => unknown
}

const FIELDS: readonly Field[] = [
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
