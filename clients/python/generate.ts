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

/** Breaks words into lines of at most the width; those after the first may have another indentation. */
function wrap(words: readonly string[], first: string, indent = first): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push((lines.length === 0 ? first : indent) + line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  return [...lines, (lines.length === 0 ? first : indent) + line]
}

const wordsOf = (text: string) => text.replaceAll('\\', '\\\\').split(/\s+/)

/** The form of a call, because only that can have a field that is named like a word of Python's own. */
function writeSchema(name: string, { description = '', properties = {} }: Schema): string {
  const fields = Object.entries(properties).map(
    ([field, schema]) => `"${field}": ${JSON.stringify(toType(schema).replaceAll('"', "'"))},`,
  )
  return [
    ...wrap(wordsOf(description), '#: '),
    `${name} = TypedDict("${name}", {`,
    ...wrap(fields, '    '),
    '}, total=False)',
  ].join('\n')
}

/** The schemas that a schema refers to, itself included. */
function collect(name: string, all: OpenApi['components']['schemas'], found: Set<string>): void {
  if (found.has(name)) return
  found.add(name)
  for (const [, each = ''] of JSON.stringify(all[name]).matchAll(/"\$ref":"[^"]*\/(\w+)"/g))
    collect(each, all, found)
}

/** A value of a call: a part of the path, a parameter, a header or a member of the body. */
interface Argument {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly wire: string
  readonly where: Parameter['in'] | 'body' | 'content'
}

function listArguments({ parameters = [], requestBody }: Operation): Argument[] {
  const found: Argument[] = parameters
    .filter(({ name }) => !OWN.has(name))
    .map(({ name, schema, required = false, in: where }) => {
      const plain = schema.type === 'array' ? `Sequence[${toType(schema.items ?? {})}]` : toType(schema)
      const type = /^Filter\.LastUpdated/.test(name) ? 'Union[datetime, str]' : plain
      return { name: toSnakeCase(name), type, required, wire: name, where }
    })
  const json = requestBody?.content['application/json']?.schema
  if (json !== undefined) {
    for (const [wire, schema] of Object.entries(json.properties ?? {})) {
      const required = json.required?.includes(wire) === true
      const type = schema.type === 'array' ? 'Sequence[Mapping[str, Any]]' : toType(schema)
      found.push({ name: toSnakeCase(wire), type, required, wire, where: 'body' })
    }
  } else if (requestBody !== undefined) {
    const [first = ''] = Object.keys(requestBody.content).toSorted().toReversed()
    found.push(
      { name: 'content', type: 'Content', required: true, wire: '', where: 'content' },
      { name: 'content_type', type: 'str', required: false, wire: first, where: 'header' },
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
  const dictionary = (name: string, pairs: readonly string[]) =>
    pairs.map(
      (pair, index) => `${index === 0 ? `${name}={` : ''}${pair}${index === pairs.length - 1 ? '}' : ''}`,
    )
  const request = [
    JSON.stringify(method.toUpperCase()),
    address,
    ...dictionary('query', group('query')),
    ...dictionary('headers', headers),
    ...dictionary('body', group('body')),
    ...(all.some(({ where }) => where === 'content') ? ['content=content'] : []),
  ]
  const [call, end] =
    json === undefined
      ? [`return ${isLines ? '_lines' : '_bytes'}(self._open(`, '))']
      : ['return self._call(', ')']
  const head = separate(signature, `def ${toSnakeCase(operationId)}(`, `) -> ${result}:`)
  const text = `"""${summary}. ${description ?? ''}`.trimEnd()
  return [
    // A long type is broken at its spaces.
    ...wrap(
      head.flatMap((each) => (each.length > WIDTH ? each.split(' ') : each)),
      '    ',
      '        ',
    ),
    ...wrap(wordsOf(`${text}"""`), '        '),
    ...wrap(separate(request, call, end), '        ', '            '),
  ].join('\n')
}

/** What is separated by commas between two texts, as the words of a line. */
function separate(items: readonly string[], before: string, after: string): string[] {
  return items.map(
    (item, index) => (index === 0 ? before : '') + item + (index === items.length - 1 ? after : ','),
  )
}

/** The module with its types and operations as the document has them. */
function writeModule(module: string, { paths, components }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => operationId !== undefined && path.startsWith('/v1/'))
      .map(([method, operation]) => writeOperation(method, path, operation)),
  )
  const used = new Set<string>()
  for (const [name] of Object.entries(components.schemas))
    if (operations.some((each) => new RegExp(`[> \\[]${name}\\b`).test(each.slice(0, each.indexOf('"""')))))
      collect(name, components.schemas, used)
  const types = Object.entries(components.schemas)
    .filter(([name]) => used.has(name))
    .map(([name, schema]) => writeSchema(name, schema))
  return replaceRegion(
    replaceRegion(module, 'types', `\n${types.join('\n')}\n\n`),
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
