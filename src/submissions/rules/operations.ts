import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { flag, listOf, object, strings, text } from '../../api/contract/fields.ts'
import { type BytesResult, page } from '../../api/contract/results.ts'
import { Problem } from '../../api/request/problems.ts'
import { makeEtag, Page } from '../../api/serving/page.ts'
import { type Definition, describeCheck, listChecks, type SqlRule } from '../../engines/checking/index.ts'
import { getOrMake } from '../../foundation/get-or-make.ts'
import { Type } from '../../foundation/schema/type.ts'
import type { Definitions } from './definitions.ts'

const DEFINED_FILE = Type.Object(
  {
    file: text('The file, as in URLs.'),
    fileType: text('Its file type, as in findings.'),
    title: text('Its name for people.'),
    fileNames: strings('Names by which it is recognised.'),
  },
  { description: 'A file that a definition describes.' },
)

const DEFINITION = {
  name: text('Name of the definition.'),
  version: text('Its version.'),
  title: text('The data that it describes.'),
  notice: text('A notice that reports show.'),
  files: listOf(DEFINED_FILE, 'Its files.'),
}

const RULE = {
  code: text('The `errorCode` of its findings.'),
  severity: text('`Error` or `Warning`.'),
  file: text('The file, as in URLs.'),
  fileType: text('The `fileType` of its findings.'),
  fields: strings('The fields concerned.'),
  kind: text('The kind of check.'),
  message: text('The finding in one sentence; `{field}` is replaced by a value of the record.'),
  why: text('Why it matters.'),
  fix: text('What to do about it.'),
  source: text('URL of the source.'),
  replaces: text("The publisher's own number."),
  basis: text('`stated`, `inferred` or `own`.'),
  since: text('The first day on which it applies.'),
  until: text('The last day on which it applies.'),
  status: text('`active`, `draft` or `retired`.'),
  needsExplanation: flag('Whether its findings must be explained before the submission; absent if not.'),
}

const Rule = Type.Object(RULE, { title: 'Rule', description: 'A check of a definition.' })

const EXAMPLE_FILE = Type.Object(
  {
    file: text('The file, as in URLs.'),
    columns: strings('The names of its columns.'),
    rows: listOf(Type.Array(Type.String()), 'Its records: a value for each column.'),
  },
  { description: 'Records of a file.' },
)

const EXAMPLE = Type.Object(
  {
    name: text('What it shows.'),
    files: listOf(EXAMPLE_FILE, 'Records of each file.'),
    finds: listOf(Type.Integer(), 'The positions, from 1, of the records that the rule finds.'),
  },
  { description: 'Records, and which of them the rule finds.' },
)

const RuleOfDefinition = Type.Object(
  {
    ...RULE,
    sql: text('The query of a rule in SQL.'),
    examples: listOf(EXAMPLE, 'The examples of a rule in SQL.'),
    definition: object(DEFINITION, 'The definition.'),
  },
  { title: 'RuleOfDefinition', description: 'A check, and the definition that has it.' },
)

const RuleCatalogue = Type.Object(
  {
    definition: object(DEFINITION, 'The definition.'),
    definitions: strings('The names of the definitions of this service.'),
    rules: listOf(Rule, 'Its checks, in the order of the findings.'),
  },
  { title: 'RuleCatalogue', description: 'All checks of a definition.' },
)

const EXAMPLE_DEFINITION = { name: 'sdr', version: '1.0.0', title: 'Single Data Return' }

const EXAMPLE_RULE = {
  code: 'LEA-03-required',
  severity: 'Error',
  file: 'learners',
  fileType: 'Learner',
  fields: ['studentIdentificationCode'],
  kind: 'required',
  message: 'studentIdentificationCode is empty.',
  fix: 'Enter the value in the student management system and export the file again.',
  status: 'active',
}

const QUERY = Type.Object({
  definition: text('The definition; defaults to the first one of the service.', { maxLength: 64 }),
})

export function ruleOperations(definitions: Definitions): readonly Operation[] {
  const reading = operationsOf({
    tag: 'Rules',
    limit: 'submissions',
    access: withScope('validation-results:read'),
    problems: { 'no-such-rule': 'The definition or the rule does not exist.' },
  })
  const pages = new Map<string, Page>()
  const send = (key: string, render: () => object): BytesResult => {
    // The number of pages is limited, because only existing rules get here.
    const kept = getOrMake(pages, key, () => {
      const body = Buffer.from(JSON.stringify(render()))
      return new Page(body, makeEtag('rules', body))
    })
    return page(kept)
  }
  return [
    reading({
      name: 'list-rules',
      id: 'listRules',
      summary: 'List rules',
      description: 'All checks of a definition, with their reasons and remedies. No EID is needed.',
      method: 'GET',
      path: '/rules',
      request: { query: QUERY },
      responses: {
        200: describePage(RuleCatalogue, 'The rules.', {
          definition: EXAMPLE_DEFINITION,
          definitions: ['sdr', 'gtfs'],
          rules: [EXAMPLE_RULE],
        }),
        304: NOT_MODIFIED,
      },
    }).handle(({ query }) => {
      const definition = find(definitions, query.definition)
      return send(definition.name, () => ({
        definition: describe(definition),
        definitions: definitions.names,
        rules: [...listChecks(definition)].map(({ resource, check }) => describeCheck(resource, check)),
      }))
    }),
    reading({
      name: 'get-rule',
      id: 'getRule',
      summary: 'Get a rule',
      description: 'One check of a definition. No EID is needed.',
      method: 'GET',
      path: '/rules/{code}',
      request: {
        path: Type.Object({ code: Type.String({ description: 'The `errorCode` of its findings.' }) }),
        query: QUERY,
      },
      responses: {
        200: describePage(RuleOfDefinition, 'The rule.', {
          ...EXAMPLE_RULE,
          definition: EXAMPLE_DEFINITION,
        }),
        304: NOT_MODIFIED,
      },
    }).handle(({ path: { code }, query }) => {
      const definition = find(definitions, query.definition)
      const found = [...listChecks(definition)].find(({ check }) => check.code === code)
      if (found === undefined) throw new Problem('no-such-rule', 'The definition has no rule with this code.')
      return send(`${definition.name}/${code}`, () => ({
        ...describeCheck(found.resource, found.check),
        ...describeRule(definitions.findRule(definition, code)),
        definition: describe(definition),
      }))
    }),
  ]
}

/** @throws {Problem} `no-such-rule` */
function find(definitions: Definitions, name = definitions.first): Definition {
  const definition = definitions.find(name)
  if (definition !== undefined) return definition
  throw new Problem(
    'no-such-rule',
    `The definition does not exist. Available definitions: ${definitions.names.join(', ')}.`,
  )
}

function describe({ name, version, title, notice, resources }: Definition) {
  const files = resources.map(({ name, fileType, title, fileNames }) => ({
    file: name,
    fileType,
    title,
    fileNames: [...fileNames],
  }))
  return { name, version, title, notice, files }
}

/** What only a rule in SQL has. */
function describeRule(rule: SqlRule | undefined) {
  if (rule === undefined) return {}
  const examples = rule.examples.map(({ name, records, finds }) => ({
    name,
    files: Object.entries(records).map(([file, rows]) => {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
      return { file, columns, rows: rows.map((row) => columns.map((column) => String(row[column] ?? ''))) }
    }),
    finds,
  }))
  return { sql: rule.sql, examples }
}
