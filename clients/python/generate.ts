// Writes what mahi.py says of the operations and their types, from openapi.json.
import { readFileSync, writeFileSync } from 'node:fs'

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Operation {
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** What the client itself sends with every request. */
const OWN = new Set(['EID', 'x-api-version'])

/** Words that Python keeps for itself. */
const KEYWORDS = new Set(['from', 'in', 'is', 'class', 'import', 'global', 'pass', 'return'])

const WIDTH = 118

function toSnakeCase(name: string): string {
  const snake = name
    .replace(/^Filter\./, '')
    .replaceAll('-', '_')
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
  return KEYWORDS.has(snake) ? `${snake}_` : snake
}

function toType(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.enum !== undefined)
    return `Literal[${schema.enum.map((each) => JSON.stringify(each)).join(', ')}]`
  switch (schema.type) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'array':
      return `List[${toType(schema.items ?? {})}]`
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? `Dict[str, ${toType(schema.additionalProperties)}]`
        : 'Dict[str, Any]'
    default:
      return 'Any'
  }
}

/** Breaks text into lines of at most the width, each with the indentation. */
function wrap(text: string, indent: string): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.replaceAll('\\', '\\\\').split(/\s+/)) {
    if (line !== '' && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push(indent + line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  return [...lines, indent + line]
}

function writeSchema(name: string, { description = '', properties = {} }: Schema): string {
  const fields = Object.entries(properties)
  const comment = (field: Schema, indent: string) =>
    field.description === undefined ? [] : wrap(field.description, `${indent}#: `)
  // Only this form can have a field that is named like a word of Python's own.
  if (fields.some(([field]) => KEYWORDS.has(field))) {
    return [
      ...wrap(description, '#: '),
      `${name} = TypedDict("${name}", {`,
      ...fields.flatMap(([field, schema]) => [
        ...comment(schema, '    '),
        `    ${JSON.stringify(field)}: ${JSON.stringify(toType(schema).replaceAll('"', "'"))},`,
      ]),
      '}, total=False)',
    ].join('\n')
  }
  return [
    `class ${name}(TypedDict, total=False):`,
    ...wrap(`"""${description}"""`, '    '),
    '',
    ...fields.flatMap(([field, schema]) => [...comment(schema, '    '), `    ${field}: ${toType(schema)}`]),
  ].join('\n')
}

/** Documents and sends a value of a call: a part of the path, a parameter, a header or a member of the body. */
interface Argument {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
  readonly wire: string
  readonly where: Parameter['in'] | 'body' | 'content'
}

function listArguments({ parameters = [], requestBody }: Operation): Argument[] {
  const found: Argument[] = parameters
    .filter(({ name }) => !OWN.has(name))
    .map(({ name, schema, required = false, description = '', in: where }) => {
      const plain = schema.type === 'array' ? `Sequence[${toType(schema.items ?? {})}]` : toType(schema)
      const type = /^Filter\.LastUpdated/.test(name) ? 'Union[datetime, str]' : plain
      return { name: toSnakeCase(name), type, required, description, wire: name, where }
    })
  const json = requestBody?.content['application/json']?.schema
  if (json !== undefined) {
    for (const [wire, schema] of Object.entries(json.properties ?? {})) {
      const required = json.required?.includes(wire) === true
      const { description = '' } = schema
      const type = schema.type === 'array' ? 'Sequence[Mapping[str, Any]]' : toType(schema)
      found.push({ name: toSnakeCase(wire), type, required, description, wire, where: 'body' })
    }
  } else if (requestBody !== undefined) {
    const [first = ''] = Object.keys(requestBody.content).toSorted().toReversed()
    found.push(
      {
        name: 'content',
        type: 'Content',
        required: true,
        description: 'The content: bytes, a path, or a file that is open for reading bytes.',
        wire: '',
        where: 'content',
      },
      {
        name: 'content_type',
        type: 'str',
        required: false,
        description: `Its media type: ${Object.keys(requestBody.content).toSorted().join(' or ')}; ${first} by default.`,
        wire: first,
        where: 'header',
      },
    )
  }
  return found
}

function writeOperation(method: string, path: string, operation: Operation): string {
  const { operationId = '', summary, description } = operation
  const all = listArguments(operation)
  const ordered = all.filter(({ required, where }) => where === 'path' || (required && where !== 'query'))
  const named = all.filter((argument) => !ordered.includes(argument))
  const signature = [
    'self',
    ...ordered.map(({ name, type }) => `${name}: ${type}`),
    ...(named.length > 0 ? ['*'] : []),
    ...named.map(({ name, type, required }) =>
      required ? `${name}: ${type}` : `${name}: Optional[${type}] = None`,
    ),
  ]
  const success =
    Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  const { 'application/json': json } = success
  const isLines = json === undefined && Object.keys(success).join() === 'application/x-ndjson'
  const result = json === undefined ? (isLines ? 'Iterator[Any]' : 'Iterator[bytes]') : toType(json.schema)

  const template = path.replace(/\{[^}]*\}/g, '{}')
  const parts = all.filter(({ where }) => where === 'path').map(({ name }) => name)
  const address =
    parts.length === 0 ? JSON.stringify(path) : `_path(${JSON.stringify(template)}, ${parts.join(', ')})`
  const group = (where: Argument['where']) =>
    all
      .filter((argument) => argument.where === where)
      .map(({ wire, name }) => `${JSON.stringify(wire)}: ${name}`)
  const organisation = operation.parameters?.find(({ name }) => name === 'EID')
  const headers = [
    ...(organisation === undefined
      ? []
      : [`"EID": self.${organisation.required ? '_organisation()' : '_eid'}`]),
    ...all
      .filter(({ where }) => where === 'header')
      .map(({ wire, name }) =>
        name === 'content_type'
          ? `"Content-Type": content_type or ${JSON.stringify(wire)}`
          : `"${wire}": ${name}`,
      ),
  ]
  const given = [
    ...(group('query').length > 0 ? [`query={${group('query').join(', ')}}`] : []),
    ...(headers.length > 0 ? [`headers={${headers.join(', ')}}`] : []),
    ...(group('body').length > 0 ? [`body={${group('body').join(', ')}}`] : []),
    ...(all.some(({ where }) => where === 'content') ? ['content=content'] : []),
  ]
  const verb = JSON.stringify(method.toUpperCase())
  const call = (name: string) => [
    `self.${name}(`,
    `            ${[`${verb}, ${address}`, ...given].join(',\n            ')},`,
    '        )',
  ]
  const body =
    json === undefined
      ? [
          `        return ${isLines ? '_lines' : '_bytes'}(${call('_open')[0]}`,
          ...call('_open').slice(1, -1),
          '        ))',
        ]
      : [`        return ${call('_call').join('\n')}`]
  const documented = all.flatMap(({ name, description }) => wrap(`- ${name}: ${description}`, '        '))
  return [
    `    def ${toSnakeCase(operationId)}(`,
    ...signature.map((each) => `        ${each},`),
    `    ) -> ${result}:`,
    ...wrap(`"""${summary}. ${description ?? ''}`.trimEnd(), '        '),
    ...(documented.length > 0 ? ['', ...documented] : []),
    '        """',
    ...body,
  ].join('\n')
}

/** The module with its types and operations as the document has them. */
function writeModule(module: string, { paths, components }: OpenApi): string {
  const types = Object.entries(components.schemas).map(([name, schema]) => writeSchema(name, schema))
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => operationId !== undefined && path.startsWith('/v1/'))
      .map(([method, operation]) => writeOperation(method, path, operation)),
  )
  return replaceRegion(
    replaceRegion(module, 'types', `\n\n${types.join('\n\n\n')}\n\n`),
    'operations',
    `\n${operations.join('\n\n')}\n\n    `,
  )
}

function replaceRegion(module: string, name: string, text: string): string {
  const begin = `# --- ${name}: written by clients/python/generate.ts ---\n`
  const end = `# --- end of ${name} ---`
  const from = module.indexOf(begin)
  const to = module.indexOf(end)
  if (from < 0 || to < from) throw new Error(`mahi.py lacks the region of its ${name}`)
  return module.slice(0, from + begin.length) + text + module.slice(to)
}

/** The module as it should be, from the document and the module as they are. */
export function generateModule(): string {
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
  return writeModule(read('mahi.py'), JSON.parse(read('../../openapi.json')) as OpenApi)
}

if (import.meta.main) writeFileSync(new URL('mahi.py', import.meta.url), generateModule())
