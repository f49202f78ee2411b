interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly $ref?: string
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface Operation {
  readonly operationId?: string
  readonly description?: string
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly required?: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>
}

/** The part of an OpenAPI document that the types come from. */
export interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** The types of what is sent, by operation: of its body or, without one, of its query. */
const INPUTS: Readonly<Record<string, { name: string; description: string }>> = {
  listOccupations: {
    name: 'OccupationsQuery',
    description: 'Which occupations to list. Filters combine with AND.',
  },
  searchOccupations: { name: 'SearchQuery', description: 'What to search for.' },
  suggestOccupations: { name: 'SuggestionsQuery', description: 'What to complete.' },
  listOccupationChanges: { name: 'ChangesQuery', description: 'Which changes to list.' },
  listConfirmedCodings: { name: 'ConfirmedCodingsQuery', description: 'Which reviewed titles to list.' },
  getValidationResults: {
    name: 'ResultsQuery',
    description: 'Which page of the validation results to get. Filters combine with AND.',
  },
  createSubmission: { name: 'NewSubmission', description: 'What to create a submission for.' },
  listFindings: { name: 'FindingsQuery', description: 'Which findings to list.' },
  getValidationResultsChanges: {
    name: 'ChangesBetweenRuns',
    description: 'Which findings of a comparison to get.',
  },
  putExplanation: { name: 'NewExplanation', description: 'Why warnings are right.' },
  reopenSubmission: { name: 'NewReopening', description: 'Why a submission is opened again.' },
  putReturn: {
    name: 'NewReturn',
    description:
      'A return to collect. Dates are local times of the service, such as `2026-01-31 17:00`, or have an offset.',
  },
  suspendOrganisation: { name: 'Suspension', description: 'Why an organisation is suspended.' },
  addSubmissionRecords: { name: 'NewRecords', description: 'Records to add, or to replace.' },
  deleteSubmissionRecords: { name: 'RecordDeletion', description: 'Records to delete.' },
  codeTitles: { name: 'CodingsQuery', description: 'Job titles to code.' },
  confirmCodings: { name: 'CodingDecisions', description: 'What a reviewer has decided about job titles.' },
}

/** The names of objects that the document describes only where they are used. */
const NAMES: Readonly<Record<string, string>> = {
  'OccupationMinorGroup.majorGroups': 'OccupationMajorGroupRelation',
  'ResultsSummary.definition': 'SummaryDefinition',
  'ResultsSummary.codes': 'CodeSummary',
  'ResultsSummary.notRun': 'CheckNotRun',
  'Receipt.notRun': 'CheckNotRun',
  'ResultsChanges.results': 'ChangedEntry',
  'ValidationRun.progress': 'RunProgress',
  'BatchResult.content': 'RecordAcknowledgement',
  'RuleCatalogue.definition': 'CatalogueDefinition',
  'CatalogueDefinition.files': 'DefinedFile',
  'RuleOfDefinition.definition': 'RuleDefinition',
  'RuleDefinition.files': 'DefinedFile',
  'RuleOfDefinition.examples': 'RuleExample',
  'RuleExample.files': 'ExampleFile',
  'CodingsQuery.items': 'TitleToCode',
  'CodingDecisions.items': 'TitleDecision',
  'NewRecords.content': 'SubmittedRecord',
  'RecordDeletion.content': 'DeletedRecord',
  'Caller.limits': 'CallerLimit',
}

/** Of a record whose fields a definition names. */
const ANY_FIELD = '  [field: string]: unknown\n'

const HEADER = `// Written by \`npm run openapi\` from openapi.json.
// Every field of a response is optional: one without a value is absent.
`

/** The TypeScript source of the types that an OpenAPI document describes. */
export function renderTypes({ components: { schemas }, paths = {} }: Document): string {
  const rendered = new Map<string, string>()
  const inputs = new Map(listInputs(paths))
  const queue = [...Object.entries({ ...schemas, AnyProblem: mergeProblems(schemas) }), ...inputs]

  /** The type of a value; an object without a name gets the one of the field that holds it. */
  function typeOf(schema: Schema, field: string): string {
    if (schema.$ref !== undefined) return nameOf(schema.$ref)
    if (schema.items !== undefined) return listOf(typeOf(schema.items, field))
    if (schema.properties !== undefined) {
      const name = NAMES[field] ?? field.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase())
      queue.push([name, schema])
      if (inputs.has(field.split('.', 1)[0] ?? '')) inputs.set(name, schema)
      return name
    }
    if (typeof schema.additionalProperties === 'object')
      return `Record<string, ${typeOf(schema.additionalProperties, field)}>`
    return plainTypeOf(schema, field)
  }

  function renderField(name: string, field: string, schema: Schema, optional: boolean): string {
    // A field of a type with a name has the meaning of that type.
    const description = schema.description ?? schemas[nameOf(schema.$ref ?? '')]?.description
    const key = /^\w+$/.test(field) ? field : `'${field}'`
    const type = typeOf(schema, `${name}.${field}`)
    const given = `${type.endsWith('[]') ? 'readonly ' : ''}${type}${optional ? ' | undefined' : ''}`
    const time = schema.format === 'date-time' ? `Date | ${given}` : given
    const value = inputs.has(name) ? time : type
    return `${comment(description, '  ')}  ${key}${optional ? '?' : ''}: ${value}\n`
  }

  for (const [name, schema] of queue) {
    const fields = Object.entries(schema.properties ?? {})
      .map(([field, part]) => renderField(name, field, part, schema.required?.includes(field) !== true))
      .join('')
    const source = `${comment(schema.description, '')}export interface ${name} {\n${fields}${schema.additionalProperties === true ? ANY_FIELD : ''}}\n`
    if ((rendered.get(name) ?? source) !== source) throw new Error(`${name} would be two different types`)
    rendered.set(name, source)
  }
  return [HEADER, ...rendered.values()].join('\n')
}

/** What operations read, by the names of its types. */
function listInputs(paths: NonNullable<Document['paths']>): [string, Schema][] {
  return Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(
      ({ operationId = '', parameters = [], requestBody }): [string, Schema][] => {
        const input = INPUTS[operationId]
        if (input === undefined) return []
        const { name, description } = input
        const body = requestBody?.content['application/json']?.schema
        if (body !== undefined) return [[name, { ...body, description }]]
        const query = parameters.filter((each) => each.in === 'query')
        const properties = Object.fromEntries(
          query.map((each) => [
            toCamelCase(each.name),
            { ...each.schema, description: each.description ?? '' },
          ]),
        )
        const required = query.filter((each) => each.required).map((each) => toCamelCase(each.name))
        return [[name, { description, properties, required }]]
      },
    ),
  )
}

/** The name of a parameter in the client: `Filter.ErrorType` is `errorType`. */
export function toCamelCase(parameter: string): string {
  const name = parameter.replace(/^Filter\./, '')
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** The type of what an operation reads in its body or its query, if it reads any. */
export function typeOfInput(
  operation: Operation,
  from: 'body' | 'query',
): { name: string; isOptional: boolean } | undefined {
  const { operationId = '', parameters = [], requestBody } = operation
  const name = INPUTS[operationId]?.name
  if (from === 'body') {
    const body = requestBody?.content['application/json']?.schema
    if (body === undefined) return undefined
    if (name === undefined) throw new Error(`${operationId}: the type of its body has no name`)
    return { name, isOptional: (body.required ?? []).length === 0 }
  }
  const query = parameters.filter((each) => each.in === 'query')
  if (query.length === 0) return undefined
  const fields = query.map(({ name, schema }) => `${toCamelCase(name)}?: ${plainTypeOf(schema)} | undefined`)
  const isNamed = name !== undefined && requestBody === undefined
  return {
    name: isNamed ? name : `{ ${fields.join('; ')} }`,
    isOptional: !query.some((each) => each.required),
  }
}

/** The members of every kind of problem. */
function mergeProblems(schemas: Document['components']['schemas']): Schema {
  const problems = Object.entries(schemas).filter(([name]) => name.endsWith('Problem'))
  const properties = Object.assign({}, ...problems.reverse().map(([, schema]) => schema.properties))
  return { description: 'An error (RFC 9457) with the members of every kind of problem.', properties }
}

/** The type of a text, a number or a truth value. */
function plainTypeOf(schema: Schema, field = ''): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'integer') return 'number'
  if (['string', 'number', 'boolean'].includes(schema.type ?? '')) return String(schema.type)
  if (schema.type === undefined) return 'unknown'
  throw new Error(`${field}: a schema of the type ${schema.type} has no type in the client`)
}

export const nameOf = (reference: string) => reference.split('/').at(-1) ?? ''
const listOf = (type: string) => (type.includes(' ') ? `(${type})[]` : `${type}[]`)

/** A doc comment of lines of at most 120 characters. */
export function comment(text: string | undefined, indent: string): string {
  if (text === undefined) return ''
  if (text.length <= 113 - indent.length) return `${indent}/** ${text} */\n`
  const width = 117 - indent.length
  const lines = text.match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)`, 'gs')) ?? []
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line.trimEnd()}\n`).join('')}${indent} */\n`
}
