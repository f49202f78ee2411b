import { type Definition, listChecks, type RuleExample } from '../../checks/definition/definition.ts'
import { findDefinition, listOwnDefinitions, loadDefinition } from '../../checks/definition/load.ts'
import { type CheckDescription, describeCheck, summariseMessage } from '../../checks/explain.ts'
import type { Context, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { count, link } from '../links.ts'

export const rulesPages: readonly Route[] = [
  { method: 'GET', path: '/rules', handle: showRules },
  { method: 'GET', path: '/rules/:definition/:code', handle: showRule },
]

interface Catalogue {
  readonly definition: Definition
  readonly checks: readonly Rule[]
  readonly byCode: ReadonlyMap<string, Rule>
}

interface Rule extends CheckDescription {
  /** The message in a few words. */
  readonly summary: string
  /** Everything that a search finds, in lower case. */
  readonly words: string
}

/** The rules shown at first. */
const RULES_SHOWN = 50

const catalogues = new Map<string, Catalogue>()

/** The built-in definition with a name; `undefined` if there is none. */
export function readRules(name: string): Catalogue | undefined {
  const known = catalogues.get(name)
  if (known !== undefined) return known
  if (!listOwnDefinitions().includes(name)) return undefined
  const definition = loadDefinition(findDefinition(name))
  const checks = [...listChecks(definition)].map(({ resource, check }) => {
    const described = describeCheck(definition, resource, check)
    const summary = summariseMessage(described.message)
    return { ...described, summary, words: JSON.stringify(described).toLowerCase() }
  })
  const catalogue = { definition, checks, byCode: new Map(checks.map((check) => [check.code, check])) }
  catalogues.set(name, catalogue)
  return catalogue
}

export const ruleLink = (definition: string, code: string): string =>
  `/console/rules/${encodeURIComponent(definition)}/${encodeURIComponent(code)}`

function showRules({ query }: Context): Shown {
  const names = listOwnDefinitions()
  const name = query.get('definition') ?? (names.includes('sdr') ? 'sdr' : (names[0] ?? ''))
  const rules = readRules(name)
  if (rules === undefined) return noSuchRule()
  const words = (query.get('q') ?? '').trim().toLowerCase()
  const file = query.get('file') ?? ''
  const severity = query.get('severity') ?? ''
  const found = rules.checks.filter(
    (check) =>
      (file === '' || check.file === file) &&
      (severity === '' || check.severity === severity) &&
      words.split(/\s+/).every((word) => check.words.includes(word)),
  )
  const shown = query.has('all') ? found : found.slice(0, RULES_SHOWN)
  const files = rules.definition.resources.map((resource) => resource.name)
  return {
    title: 'Rules',
    wide: true,
    content: html`<h1>Rules</h1>
      <p>${rules.definition.title}, version ${rules.definition.version}. ${rules.definition.notice}</p>
      <form class="row" method="get" action="/console/rules" data-live>
        <label>Definition<select name="definition">${names.map((each) => html`<option selected=${each === name}>${each}</option>`)}</select></label>
        <label class="grow">Words or a code<input type="search" name="q" value=${query.get('q') ?? ''} /></label>
        <label>File<select name="file"><option value="">All files</option>${files.map((each) => html`<option selected=${each === file}>${each}</option>`)}</select></label>
        <label>Severity<select name="severity"><option value="">All</option>${['Error', 'Warning'].map((each) => html`<option selected=${each === severity}>${each}</option>`)}</select></label>
        <button type="submit">Show</button>
      </form>
      <p role="status" data-results>${count(found.length, 'rule')}.</p>
      <div data-results><div class="scroll" tabindex="0" role="region" aria-label="Rules"><table>
        <thead><tr><th scope="col">Code</th><th scope="col">Severity</th><th scope="col">File</th><th scope="col">What it finds</th><th scope="col">How to fix it</th></tr></thead>
        <tbody>${shown.map(
          (check) => html`<tr>
          <th scope="row"><a href=${ruleLink(name, check.code)}>${check.code}</a>${check.replaces !== undefined && html`<br /><span class="soft">official ${check.replaces}</span>`}</th>
          <td class=${check.severity.toLowerCase()}>${check.severity}</td><td>${check.file}</td><td>${check.summary}</td><td>${check.fix}</td>
        </tr>`,
        )}</tbody>
      </table></div>
      ${found.length > shown.length && html`<p><a href=${link('/console/rules', { definition: name, q: words, file, severity, all: 'yes' })}>Show ${count(found.length - shown.length, 'more rule')}</a></p>`}</div>`,
  }
}

function showRule({ request }: Context): Shown {
  const { definition: name, code } = request.params as { definition: string; code: string }
  const rules = readRules(name)
  const check = rules?.byCode.get(code)
  if (rules === undefined || check === undefined) return noSuchRule()
  const rule = rules.definition.resources
    .flatMap((resource) => resource.rules)
    .find((each) => each.check.code === code)
  const facts: readonly [string, string | undefined][] = [
    ['Severity', check.severity],
    ['File', check.file],
    ['Columns', check.fields.join(', ')],
    ['Official number', check.replaces],
    ['Basis', check.basis],
    ['Since', check.since],
    ['Until', check.until],
  ]
  return {
    title: `Rule ${code}`,
    content: html`<p class="soft"><a href=${link('/console/rules', { definition: name })}>Rules</a></p>
      <h1>${code}</h1>
      <p class="verdict">${check.message}</p>
      ${check.why !== undefined && html`<h2>Why it matters</h2><p>${check.why}</p>`}
      ${check.fix !== undefined && html`<h2>How to fix it</h2><p>${check.fix}</p>`}
      <dl class="pairs">${facts.filter(([, value]) => value !== undefined && value !== '').map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}
        ${check.source !== undefined && html`<dt>Source</dt><dd>${/^https?:\/\//.test(check.source) ? html`<a href=${check.source} rel="noreferrer">${check.source}</a>` : check.source}</dd>`}
      </dl>
      ${rule !== undefined && html`<h2>Examples</h2>${rule.examples.map(showExample)}<details><summary>The rule in SQL</summary><pre tabindex="0">${rule.sql}</pre></details>`}
      <p class="soft">${rules.definition.notice}</p>`,
  }
}

function showExample({ name, records, finds }: RuleExample): VNode {
  return html`<section><h3>${name}</h3>
    <p class="soft">${finds.length === 0 ? 'Finds nothing.' : `Finds record ${finds.join(', ')}.`}</p>
    ${Object.entries(records).map(([file, rows]) => {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
      return html`<div class="scroll" tabindex="0" role="group" aria-label=${file}><table><caption>${file}</caption>
        <thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${columns.map((column) => html`<td>${String(row[column] ?? '')}</td>`)}</tr>`)}</tbody>
      </table></div>`
    })}
  </section>`
}

function noSuchRule(): Shown {
  return {
    title: 'No such rule',
    status: 404,
    content: html`<h1>No such rule</h1><p><a href="/console/rules">All rules</a></p>`,
  }
}
