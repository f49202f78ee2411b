// Writes RULES.md of every definition that comes with Mahi: npm run rules
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Definition, Resource } from '../../src/engines/checking/definition/definition.ts'
import {
  findDefinition,
  listOwnDefinitions,
  loadDefinition,
} from '../../src/engines/checking/definition/load.ts'
import { describeCheck } from '../../src/engines/checking/engine/explain.ts'

/** The page of all checks of a definition. Sources are numbered, as many checks share one. */
export function renderRulesPage(definition: Definition): string {
  const sources: string[] = []
  const cite = (source: string | undefined) => {
    if (source === undefined) return ''
    if (!sources.includes(source)) sources.push(source)
    const number = sources.indexOf(source) + 1
    return `[${number}](#source-${number})`
  }
  const files = definition.resources.map((resource) => renderFile(resource, cite))
  const list = sources.map((source, index) => `${index + 1}. <a id="source-${index + 1}"></a><${source}>`)
  return [
    `# Every check of the definition ${definition.name}`,
    '',
    `Version ${definition.version}. Generated from the definition by \`npm run rules\`.`,
    ...(definition.notice === undefined ? [] : ['', definition.notice]),
    ...files.flat(),
    ...(list.length === 0 ? [] : ['', '## Sources', '', ...list]),
    '',
  ].join('\n')
}

function renderFile(resource: Resource, cite: (source: string | undefined) => string): string[] {
  const rows = resource.checks.map((check) => {
    const { code, replaces, severity, message, why, fix, basis, since, until, source } = describeCheck(
      resource,
      check,
    )
    const time = [since && `since ${since}`, until && `until ${until}`].filter(Boolean).join(', ')
    const said = `${message}${time === '' ? '' : ` (${time})`}`
    const cells = [`\`${code}\``, replaces, severity, said, why, fix, basis, cite(source)]
    return `| ${cells.map((cell) => escapeCell(cell ?? '')).join(' | ')} |`
  })
  return [
    '',
    `## ${resource.title}: ${resource.path}`,
    '',
    '| code | official number | severity | finds | why | fix | basis | source |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ]
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** Where the page of a definition is. */
export function pageOf(definition: Definition): string {
  return join(definition.folder, 'RULES.md')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const name of listOwnDefinitions()) {
    const definition = loadDefinition(findDefinition(name))
    writeFileSync(pageOf(definition), renderRulesPage(definition))
  }
}
