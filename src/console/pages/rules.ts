import { count } from '../../foundation/text/format-number.ts'
import type { Context, Route, Shown } from '../context.ts'
import { Select } from '../fields.ts'
import { html, type VNode } from '../html.ts'
import { link } from '../links.ts'
import { type Rule, type RuleExample, readRule, readRules, ruleLink, summarise, titlesOf } from '../rules.ts'
import { Table } from '../table.ts'

export const rulesPages: readonly Route[] = [
  { method: 'GET', path: '/rules', handle: showRules },
  { method: 'GET', path: '/rules/:definition/:code', handle: showRule },
]

/** The rules shown at first. */
const RULES_SHOWN = 50

async function showRules({ api, query }: Context): Promise<Shown> {
  const catalogue = await readRules(api, query.get('definition') ?? undefined)
  if (catalogue === undefined) return noSuchRule()
  const { definition, definitions } = catalogue
  const { name, title, version, notice } = definition
  const text = (query.get('q') ?? '').trim()
  const file = query.get('file') ?? ''
  const severity = query.get('severity') ?? ''
  const found = findRules(catalogue.rules, { text, file, severity })
  const shown = query.has('all') ? found : found.slice(0, RULES_SHOWN)
  const all = link('/console/rules', { definition: name, q: text, file, severity, all: 'yes' })
  return {
    title: 'Rules',
    content: html`<h1>Rules</h1>
      <p>${title}, version ${version}. ${notice}</p>
      <form class="row" method="get" action="/console/rules" data-live>
        <${Select} name="definition" label="Definition" value=${name} options=${definitions} />
        <label class="grow">Words or a code<input type="search" name="q" value=${text} /></label>
        <${Select} name="file" label="File" all="All files" value=${file} options=${definition.files.map((each) => [each.file, each.title])} />
        <${Select} name="severity" label="Severity" all="All" value=${severity} options=${['Error', 'Warning']} />
        <button type="submit">Show</button>
      </form>
      <p role="status" data-results>${count(found.length, 'rule')}.</p>
      <div data-results>
        <${Table} region class="cards" label="Rules" columns=${['Code', 'Severity', 'File', 'What it finds', 'How to fix it']}>
          ${shown.map((rule) => showRow(name, rule, titlesOf(catalogue)))}
        <//>
        ${found.length > shown.length && html`<p><a href=${all}>Show ${count(found.length - shown.length, 'more rule')}</a></p>`}
      </div>`,
  }
}

/** The rules of a file and a severity that contain all words. */
function findRules(
  rules: readonly Rule[],
  { text, file, severity }: { text: string; file: string; severity: string },
): readonly Rule[] {
  const words = text.toLowerCase().split(/\s+/)
  return rules.filter((rule) => {
    if ((file !== '' && rule.file !== file) || (severity !== '' && rule.severity !== severity)) return false
    const all = JSON.stringify(rule).toLowerCase()
    return words.every((word) => all.includes(word))
  })
}

function showRow(
  definition: string,
  { code, severity, file, message, fix, replaces }: Rule,
  titles: ReadonlyMap<string, string>,
): VNode {
  return html`<tr>
    <th scope="row" class="code">
      <a href=${ruleLink(definition, code)}>${code}</a>
      ${replaces !== undefined && html`<br /><span class="soft">official ${replaces}</span>`}
    </th>
    <td><span class=${`tag ${severity.toLowerCase()}`}>${severity}</span></td>
    <td>${titles.get(file) ?? file}</td>
    <td>${summarise(message)}</td>
    <td>${fix}</td>
  </tr>`
}

async function showRule({ api, request }: Context): Promise<Shown> {
  const { definition: name, code } = request.params as { definition: string; code: string }
  const rule = await readRule(api, name, code)
  if (rule === undefined) return noSuchRule()
  const { message, why, fix, source, examples = [], sql } = rule
  const facts: readonly [string, string | undefined][] = [
    ['Severity', rule.severity],
    ['File', rule.file],
    ['Columns', rule.fields.join(', ')],
    ['Official number', rule.replaces],
    ['Basis', rule.basis],
    ['Since', rule.since],
    ['Until', rule.until],
  ]
  const known = facts.filter(([, value]) => value !== undefined && value !== '')
  return {
    title: `Rule ${code}`,
    content: html`<p class="soft"><a href=${link('/console/rules', { definition: name })}>Rules</a></p>
      <h1>${code}</h1>
      <p class="verdict">${summarise(message)}</p>
      ${why !== undefined && html`<h2>Why it matters</h2><p>${why}</p>`}
      ${fix !== undefined && html`<h2>How to fix it</h2><p>${fix}</p>`}
      <dl class="pairs">
        ${known.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}
        ${source !== undefined && html`<dt>Source</dt><dd>${showSource(source)}</dd>`}
      </dl>
      ${examples.length > 0 && html`<h2>Examples</h2>${examples.map(showExample)}`}
      ${sql !== undefined && html`<details><summary>The rule in SQL</summary><pre tabindex="0">${sql}</pre></details>`}
      <p class="soft">${rule.definition.notice}</p>`,
  }
}

function showSource(source: string): VNode | string {
  return /^https?:\/\//.test(source) ? html`<a href=${source} rel="noreferrer">${source}</a>` : source
}

function showExample({ name, files, finds }: RuleExample): VNode {
  return html`<section>
    <h3>${name}</h3>
    <p class="soft">${finds.length === 0 ? 'Finds nothing.' : `Finds record ${finds.join(', ')}.`}</p>
    ${files.map(
      ({
        file,
        columns,
        rows,
      }) => html`<${Table} class="narrow" label=${file} caption=${file} columns=${columns}>
        ${rows.map((row) => html`<tr>${row.map((value) => html`<td>${value}</td>`)}</tr>`)}
      <//>`,
    )}
  </section>`
}

function noSuchRule(): Shown {
  return {
    title: 'No such rule',
    status: 404,
    content: html`<h1>No such rule</h1><p><a href="/console/rules">All rules</a></p>`,
  }
}
