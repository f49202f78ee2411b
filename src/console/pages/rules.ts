import { count } from '../../foundation/text/format-number.ts'
import { absent, type Context, get, type Route, type Shown } from '../context.ts'
import { Field, Select } from '../fields.ts'
import { crumbs, html, pairs, tag, type VNode } from '../html.ts'
import { link } from '../links.ts'
import { cut } from '../lists.ts'
import { Filters } from '../post-form.ts'
import {
  type Rule,
  type RuleExample,
  readRule,
  readRules,
  showRuleCode,
  summarise,
  titlesOf,
} from '../rules.ts'
import { table } from '../table.ts'

export const rulesPages: readonly Route[] = [
  get('/rules', showRules),
  get('/rules/:definition/:code', showRule),
]

/** The rules shown at first. */
const RULES_SHOWN = 50

async function showRules(context: Context): Promise<Shown> {
  const { api, query } = context
  const catalogue = await readRules(api, query.get('definition') ?? undefined)
  if (catalogue === undefined) return noSuchRule()
  const { definition, definitions } = catalogue
  const { name, title, version, notice } = definition
  const text = (query.get('q') ?? '').trim()
  const file = query.get('file') ?? ''
  const severity = query.get('severity') ?? ''
  const found = findRules(catalogue.rules, { text, file, severity })
  const titles = titlesOf(catalogue)
  const { shown, more } = cut(context, found, RULES_SHOWN, 'rule')
  return {
    title: 'Rules',
    content: html`<h1>Rules</h1>
      <p>${title}, version ${version}. ${notice}</p>
      <${Filters} action="/console/rules">
        <${Select} name="definition" label="Definition" value=${name} options=${definitions} />
        <${Field} class="grow" name="q" label="Words or a code" type="search" value=${text} />
        <${Select} name="file" label="File" all="All files" value=${file} options=${definition.files.map((each) => [each.file, each.title])} />
        <${Select} name="severity" label="Severity" all="All" value=${severity} options=${['Error', 'Warning']} />
      <//>
      <p role="status" data-results>${count(found.length, 'rule')}.</p>
      <div data-results>
        ${table('Rules', shown, [
          ['Code', (rule) => showRuleCode(name, rule), 'code'],
          ['Severity', (rule) => tag(rule.severity)],
          ['File', (rule) => titles.get(rule.file) ?? rule.file],
          ['What it finds', ({ message }) => summarise(message)],
          ['How to fix it', ({ fix }) => fix],
        ])}
        ${more}
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

async function showRule({ api, params }: Context): Promise<Shown> {
  const { definition: name = '', code = '' } = params
  const rule = await readRule(api, name, code)
  if (rule === undefined) return noSuchRule()
  const { message, why, fix, source, examples = [], sql } = rule
  const titles = titlesOf(rule)
  const facts = [
    ['Severity', rule.severity],
    ['File', titles.get(rule.file) ?? rule.file],
    ['Columns', rule.fields.join(', ')],
    ['Official number', rule.replaces],
    ['Basis', rule.basis],
    ['Since', rule.since],
    ['Until', rule.until],
    ['Source', source && showSource(source)],
  ] as const
  return {
    title: `Rule ${code}`,
    content: html`${crumbs([link('/console/rules', { definition: name }), 'Rules'])}
      <h1>${code}</h1>
      <p class="verdict">${summarise(message)}</p>
      ${why !== undefined && html`<h2>Why it matters</h2><p>${why}</p>`}
      ${fix !== undefined && html`<h2>How to fix it</h2><p>${fix}</p>`}
      ${pairs(facts)}
      ${examples.length > 0 && html`<h2>Examples</h2>${examples.map((example) => showExample(example, titles))}`}
      ${sql !== undefined && html`<details><summary>The rule in SQL</summary><pre tabindex="0">${sql}</pre></details>`}
      <p class="soft">${rule.definition.notice}</p>`,
  }
}

function showSource(source: string): VNode | string {
  return /^https?:\/\//.test(source) ? html`<a href=${source} rel="noreferrer">${source}</a>` : source
}

function showExample({ name, files, finds }: RuleExample, titles: ReadonlyMap<string, string>): VNode {
  return html`<section>
    <h3>${name}</h3>
    <p class="soft">${finds.length === 0 ? 'Finds nothing.' : `Finds ${finds.length === 1 ? 'record' : 'records'} ${finds.join(', ')}.`}</p>
    ${files.map(({ file, columns, rows }) =>
      table(
        file,
        rows,
        columns.map((name, at) => [name, (row) => row[at], { label: name }]),
        { class: 'narrow cards', caption: titles.get(file) ?? file },
      ),
    )}
  </section>`
}

const noSuchRule = (): Shown => absent('No such rule', html`<a href="/console/rules">All rules</a>`)
