import { hash } from 'node:crypto'
import Type, { type TSchema } from 'typebox'
import { type Definition, listChecks } from '../checks/definition/definition.ts'
import { describeCheck } from '../checks/explain.ts'
import { describePage, NOT_MODIFIED } from '../http/describe.ts'
import { text } from '../http/fields.ts'
import { Problem } from '../http/problems.ts'
import { declare, notModified, type Operation, page, type Result } from '../operation.ts'
import { makeEtag, Page } from '../pages/page.ts'
import type { Definitions } from './definitions.ts'
import { COMMON_PROBLEMS } from './operations.ts'

const DEFINITION = {
  name: text('Name of the definition.'),
  version: text('Its version.'),
  title: text('The data that it describes.'),
  notice: text('A notice that reports show.'),
}

const RULE = {
  code: text('The `errorCode` of its findings.'),
  severity: text('`Error` or `Warning`.'),
  file: text('The file, as in URLs.'),
  fileType: text('The `fileType` of its findings.'),
  fields: Type.Optional(Type.Array(Type.String(), { description: 'The fields concerned.' })),
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
}

const Rule = Type.Object(RULE, { description: 'A check of a definition.' })
const RuleOfDefinition = Type.Object(
  { ...RULE, definition: Type.Optional(Type.Object(DEFINITION, { description: 'The definition.' })) },
  { description: 'A check, and the definition that has it.' },
)
const RuleCatalogue = Type.Object(
  {
    definition: Type.Optional(Type.Object(DEFINITION, { description: 'The definition.' })),
    definitions: Type.Optional(
      Type.Array(Type.String(), { description: 'The names of the definitions of this service.' }),
    ),
    rules: Type.Optional(
      Type.Array(Type.Ref('Rule#') as TSchema, { description: 'Its checks, in the order of the findings.' }),
    ),
  },
  { description: 'All checks of a definition.' },
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
  definition: Type.Optional(
    Type.String({ description: 'The definition; defaults to the first one of the service.', maxLength: 64 }),
  ),
})

const PROBLEMS = {
  ...COMMON_PROBLEMS,
  unauthorized: 'There is no valid credential, or it lacks the scope validation-results:read.',
  'not-found': 'The definition or the rule does not exist.',
} as const

interface Query {
  readonly definition?: string
}

export function ruleOperations(definitions: Definitions): readonly Operation[] {
  const pages = new Map<string, Page>()
  const send = (key: string, isFresh: (etag: string) => boolean, render: () => object): Result => {
    let kept = pages.get(key)
    if (kept === undefined) {
      const body = JSON.stringify(render())
      kept = new Page([Buffer.from(body)], makeEtag('rules', hash('sha256', body, 'base64url').slice(0, 16)))
      // The number of pages is limited, because only existing rules get here.
      pages.set(key, kept)
    }
    return isFresh(kept.etag) ? notModified(kept.etag) : page(kept)
  }
  return [
    declare<unknown, Query>({
      name: 'list-rules',
      id: 'listRules',
      summary: 'List rules',
      description: 'All checks of a definition, with their reasons and remedies. No EID is needed.',
      tag: 'Rules',
      method: 'GET',
      path: '/rules',
      scope: 'validation-results:read',
      limit: 'submissions',
      parameters: { query: { schema: QUERY } },
      schemas: { Rule, RuleCatalogue },
      responses: {
        200: describePage('RuleCatalogue', 'The rules.', {
          definition: EXAMPLE_DEFINITION,
          definitions: ['sdr', 'gtfs'],
          rules: [EXAMPLE_RULE],
        }),
        304: NOT_MODIFIED,
      },
      problems: PROBLEMS,
      handle({ query, isFresh }) {
        const definition = find(definitions, query.definition)
        return send(definition.name, isFresh, () => ({
          definition: describe(definition),
          definitions: definitions.names,
          rules: [...listChecks(definition)].map(({ resource, check }) =>
            describeCheck(definition, resource, check),
          ),
        }))
      },
    }),
    declare<{ code: string }, Query>({
      name: 'get-rule',
      id: 'getRule',
      summary: 'Get a rule',
      description: 'One check of a definition. No EID is needed.',
      tag: 'Rules',
      method: 'GET',
      path: '/rules/{code}',
      scope: 'validation-results:read',
      limit: 'submissions',
      parameters: {
        path: Type.Object({ code: Type.String({ description: 'The `errorCode` of its findings.' }) }),
        query: { schema: QUERY },
      },
      schemas: { RuleOfDefinition },
      responses: {
        200: describePage('RuleOfDefinition', 'The rule.', {
          ...EXAMPLE_RULE,
          definition: EXAMPLE_DEFINITION,
        }),
        304: NOT_MODIFIED,
      },
      problems: PROBLEMS,
      handle({ path: { code }, query, isFresh }) {
        const definition = find(definitions, query.definition)
        const found = [...listChecks(definition)].find(({ check }) => check.code === code)
        if (found === undefined) throw new Problem('not-found', 'The definition has no rule with this code.')
        return send(`${definition.name}/${code}`, isFresh, () => ({
          ...describeCheck(definition, found.resource, found.check),
          definition: describe(definition),
        }))
      },
    }),
  ]
}

/** @throws {Problem} `not-found` */
function find(definitions: Definitions, name = definitions.first): Definition {
  const definition = definitions.find(name)
  if (definition !== undefined) return definition
  throw new Problem(
    'not-found',
    `The definition does not exist. Available definitions: ${definitions.names.join(', ')}.`,
  )
}

function describe({ name, version, title, notice }: Definition) {
  return { name, version, title, ...(notice !== undefined && { notice }) }
}
