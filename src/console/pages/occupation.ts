import type {
  OccupationMatch,
  OccupationSearchPage,
  RemovedOccupationProblem,
} from '../../../client/src/types.ts'
import { type Api, ApiProblem } from '../api.ts'
import { absent, type Context, get, type Route, type Shown } from '../context.ts'
import { crumbs, html, maori, pairs, type VNode } from '../html.ts'
import { link, occupationLink } from '../links.ts'
import { type Amounts, describeBasis, payChart, payScale, payTable, payText, readAmounts } from '../pay.ts'
import { nameOf, type Occupation, type OccupationPage, type Pay, primaryGroup } from '../records.ts'
import { showTime } from '../time.ts'
import { showSuccessors } from './changes.ts'

export const occupationPages: readonly Route[] = [get('/occupations/:code', showOccupation)]

/** The similar occupations that are listed, and the longest query of a search. */
const SIMILAR = 8
const MOST_WORDS = 200

/** The most records of its group with which an occupation is compared. */
const NEIGHBOURS = 100

async function showOccupation(context: Context): Promise<Shown> {
  const { code = '' } = context.params
  const response = await context.api.send(`/occupations/${encodeURIComponent(code)}`)
  if (response.statusCode === 410) return showRemoved(code, JSON.parse(response.body))
  if (response.statusCode >= 400) throw new ApiProblem(JSON.parse(response.body))
  const record = JSON.parse(response.body) as Occupation
  const group = primaryGroup(record)
  const neighbours = group?.code === undefined ? [] : await readGroup(context.api, group.code)
  const others = neighbours.filter((each) => each.occupationCode !== record.occupationCode)
  const [similar, amounts] = await Promise.all([findSimilar(context.api, record), readAmounts(context.api)])
  const { protocol, host } = context.request
  const url = `${protocol}://${host}/v1/occupations/${encodeURIComponent(record.occupationCode ?? '')}`
  return {
    title: nameOf(record),
    content: html`
      ${crumbs(['/console/occupations', 'Occupations'], ...groupLinks(record))}
      <h1>${nameOf(record)}${record.titleMaori !== undefined && record.titleEnglish !== undefined && html`<br />${maori(record.titleMaori)}`}</h1>
      ${record.altJobTitlesEnglish !== undefined && html`<p>Also known as: ${record.altJobTitlesEnglish.join(', ')}</p>`}
      ${record.altJobTitlesMaori !== undefined && html`<p>${maori(record.altJobTitlesMaori.join(', '))}</p>`}
      ${showPay(record, others, amounts)}
      ${bilingual('What the work is', record.descriptionEnglish, record.descriptionMaori)}
      ${bilingual('Kaupapa', record.kaupapaDescriptionEnglish, record.kaupapaDescriptionMaori)}
      ${bilingual('Tasks', record.detailedWorkActivitiesEnglish, record.detailedWorkActivitiesMaori)}
      ${bilingual('Life on the job', record.lifeOnTheJobEnglish, record.lifeOnTheJobMaori)}
      ${showEntry(record)}
      ${record.trainingDuration !== undefined && html`<h2>Training</h2><p>${record.trainingDuration}</p>`}
      ${showAuthority(record)}
      ${
        similar.length > 0 &&
        html`<h2>Similar occupations</h2>
        <p class="soft">Of the same major group, ${majorGroup(record)?.nameEnglish ?? majorGroup(record)?.code}: what the search finds with the words of this record, best first.</p>
        <ul>${similar.map((each) => showSimilar(record, each))}</ul>`
      }
      <p class="no-print"><a href=${link('/console/compare', { code: record.occupationCode })}>Compare with another occupation</a></p>
      <h2>For programs</h2>
      ${pairs([
        ['Code', html`<span class="mono">${record.occupationCode}</span>`],
        ['Last change', showTime(record.lastUpdatedDate)],
      ])}
      <pre tabindex="0" data-copy="Copy the command">curl -H "X-API-Key: $MAHI_API_KEY" "${url}"</pre>
      <details class="no-print">
        <summary>The record as JSON</summary>
        <pre tabindex="0" data-copy="Copy the JSON">${JSON.stringify(record, null, 2)}</pre>
      </details>
    `,
  }
}

function showSimilar(record: Occupation, { occupationCode: code = '', ...other }: OccupationMatch): VNode {
  const comparison = link('/console/compare', { code: `${record.occupationCode},${code}` })
  return html`<li>
    <a href=${occupationLink(code)}>${nameOf({ occupationCode: code, ...other })}</a>
    ${' '}<a class="soft" href=${comparison}>compare</a>
  </li>`
}

const showRemoved = (code: string, { removedDate, replacedBy }: RemovedOccupationProblem): Shown =>
  absent(
    'This occupation was removed',
    html`The occupation ${code} was removed on ${showTime(removedDate)}${showSuccessors(replacedBy)}.${' '}
      <a href="/console/occupations">Find another occupation</a>`,
    410,
  )

/** Occupations of the same major group whose records are about similar work. */
async function findSimilar(api: Api, record: Occupation): Promise<readonly OccupationMatch[]> {
  const { code } = majorGroup(record) ?? {}
  if (code === undefined) return []
  const words = [record.descriptionEnglish, ...(record.detailedWorkActivitiesEnglish ?? []), nameOf(record)]
    .filter((text) => text !== undefined)
    .join(' ')
    .slice(0, MOST_WORDS)
  // The record is shown while its search index is built, too.
  const { statusCode, body } = await api.send('/occupations/search', {
    query: {
      q: words,
      'Filter.MajorGroupCode': code,
      'Filter.GroupRelation': 'Primary',
      Limit: SIMILAR + 1,
    },
  })
  if (statusCode !== 200) return []
  const { results = [] } = JSON.parse(body) as OccupationSearchPage
  return results.filter(({ occupationCode }) => occupationCode !== record.occupationCode).slice(0, SIMILAR)
}

async function readGroup(api: Api, code: string): Promise<readonly Occupation[]> {
  const page = await api.call<OccupationPage>('/occupations', {
    query: {
      'Filter.MinorGroupCode': code,
      'Filter.GroupRelation': 'Primary',
      Fields: 'occupationCode,titleEnglish,titleMaori,renumeration',
      Limit: NEIGHBOURS,
    },
  })
  return page.data ?? []
}

const majorGroup = (record: Occupation) =>
  primaryGroup(record)?.majorGroups?.find((each) => each.majorGroupRelationType === 'Primary')?.majorGroup

/** The groups of a record, each with the page of its occupations. */
function groupLinks(record: Occupation): (readonly [href: string, name: string])[] {
  const group = majorGroup(record)?.code
  const levels = [
    { named: majorGroup(record), query: { group } },
    { named: primaryGroup(record), query: { group, minor: primaryGroup(record)?.code } },
  ]
  return levels.flatMap(({ named, query }) =>
    named?.code === undefined
      ? []
      : [[link('/console/occupations', query), named.nameEnglish ?? named.code] as const],
  )
}

function showPay(record: Occupation, similar: readonly Occupation[], amounts: Amounts): VNode | false {
  const pay = record.renumeration
  if (pay === undefined) return false
  const others = similar.flatMap(({ renumeration }) => (renumeration === undefined ? [] : [renumeration]))
  const range = rangeOf([pay, ...others])
  const scale = payScale([pay, range])
  const [from, to] = [range.payLowerBound ?? 0, range.payUpperBound ?? 0].map(amounts.show)
  const band = `The grey band is the range of its group: ${from} to ${to}.`
  return html`<h2>Pay</h2>
    ${payChart(pay, scale, amounts, others.length > 0 ? range : undefined)}
    <p>${payText(pay, amounts)} ${describeBasis(amounts)}${others.length > 0 && html` <span class="soft">${band}</span>`}</p>
    <details><summary>Pay as a table</summary>${payTable(
      [
        { name: nameOf(record), pay },
        ...similar.slice(0, 30).map((each) => ({ name: nameOf(each), pay: each.renumeration })),
      ],
      amounts,
    )}</details>`
}

function rangeOf(pays: readonly Pay[]): Pay {
  return {
    payLowerBound: Math.min(...pays.map(({ payLowerBound = Number.POSITIVE_INFINITY }) => payLowerBound)),
    payUpperBound: Math.max(...pays.map(({ payUpperBound = 0 }) => payUpperBound)),
  }
}

type Text = string | readonly string[] | undefined

/** A heading above both languages side by side; nothing if both are empty. */
function bilingual(heading: string, english: Text, te_reo: Text): VNode | false {
  if (english === undefined && te_reo === undefined) return false
  return html`<h2>${heading}</h2><div class="side-by-side">
    ${english !== undefined && html`<div>${showText(english)}</div>`}
    ${te_reo !== undefined && html`<div lang="mi">${showText(te_reo)}</div>`}
  </div>`
}

function showText(text: string | readonly string[]): VNode {
  if (typeof text === 'string') return html`<p>${text}</p>`
  return html`<ul>${text.map((each) => html`<li>${each}</li>`)}</ul>`
}

function showEntry({ entryRequirements: entry }: Occupation): (VNode | false)[] {
  if (entry === undefined) return []
  return [
    bilingual('Entry requirements', entry.entrySummaryEnglish, entry.entrySummaryMaori),
    bilingual('At school', entry.entryInSchoolEnglish, entry.entryInSchoolMaori),
    bilingual('You need', entry.entryYouNeedEnglish, entry.entryYouNeedMaori),
    bilingual('You may need', entry.entryYouMayNeedEnglish, entry.entryYouMayNeedMaori),
  ]
}

function showAuthority({ registrationAuthority: authority }: Occupation): VNode | false {
  if (authority === undefined) return false
  const { nameEnglish, nameMaori, email, telephone, websiteUrl } = authority
  const isLink = websiteUrl !== undefined && /^https?:\/\//i.test(websiteUrl)
  const website = isLink ? html`<a href=${websiteUrl} rel="noreferrer">${websiteUrl}</a>` : websiteUrl
  return html`<h2>Registration</h2>${pairs([
    ['Authority', nameEnglish],
    ['Authority in te reo Māori', nameMaori && maori(nameMaori)],
    ['E-mail', email],
    ['Telephone', telephone],
    ['Website', website],
  ])}`
}
