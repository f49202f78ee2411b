import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Interface, readTypes } from '../client/test/read-types.ts'

interface Schema {
  type?: string
  format?: string
  description?: string
  enum?: string[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  required?: string[]
  $ref?: string
}
interface Document {
  paths: Record<string, { get: { parameters: { name: string; in: string; schema: Schema }[] } }>
  components: { schemas: Record<string, Schema> }
}

const readDocument = () =>
  JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as Document

/** A type with all that is in it: the name of a plain type, or an object, or a list or record of either. */
type Shape =
  | string
  | { list: Shape }
  | { record: Shape }
  | { doc: string; fields: Record<string, { doc: string; optional: boolean; type: Shape }> }

const find = (document: Document, { $ref = '' }: Schema): Schema | undefined =>
  document.components.schemas[$ref.split('/').at(-1) ?? '']

/** What openapi.json says. */
function shapeOfSchema(document: Document, schema: Schema): Shape {
  const shape = (inner: Schema | undefined) => shapeOfSchema(document, inner ?? {})
  const reference = schema.$ref?.split('/').at(-1)
  if (reference !== undefined) return shape(document.components.schemas[reference])
  const texts = schema.enum ?? schema.anyOf?.flatMap((each) => each.enum ?? ['?'])
  if (texts !== undefined)
    return texts
      .map((text) => JSON.stringify(text))
      .sort()
      .join(' | ')
  if (schema.items !== undefined) return { list: shape(schema.items) }
  if (schema.properties !== undefined) {
    return {
      doc: schema.description ?? '',
      fields: Object.fromEntries(
        Object.entries(schema.properties).map(([name, property]) => [
          name,
          {
            // A field of a type with a name has the meaning of that type.
            doc: property.description ?? find(document, property)?.description ?? '',
            optional: schema.required?.includes(name) !== true,
            type: shape(property),
          },
        ]),
      ),
    }
  }
  if (schema.additionalProperties !== undefined) return { record: shape(schema.additionalProperties) }
  return schema.type === 'integer' ? 'number' : (schema.type ?? 'unknown')
}

/** What the client's types say; `seen` gathers the interfaces on the way. */
function shapeOfType(types: Record<string, Interface>, type: string, seen: Set<string>): Shape {
  const list = /^(\w+(?:\[\])*)\[\]$/.exec(type)?.[1]
  if (list !== undefined) return { list: shapeOfType(types, list, seen) }
  const record = /^Record<string, (.+)>$/.exec(type)?.[1]
  if (record !== undefined) return { record: shapeOfType(types, record, seen) }
  const found = types[type]
  if (found === undefined) return type
  seen.add(type)
  return {
    doc: found.doc,
    fields: Object.fromEntries(
      Object.entries(found.fields).map(([name, field]) => [
        name,
        { ...field, type: shapeOfType(types, field.type, seen) },
      ]),
    ),
  }
}

/** Fails unless the types say what the document says: each field, its type, its meaning, and nothing else. */
function assertAlike(document: Document, types: Record<string, Interface>): void {
  const names = Object.keys(document.components.schemas)
  const seen = new Set<string>()
  expect(Object.fromEntries(names.map((name) => [name, shapeOfType(types, name, seen)]))).toEqual(
    Object.fromEntries(names.map((name) => [name, shapeOfSchema(document, { $ref: name })])),
  )
  expect(Object.keys(types).sort()).toEqual([...seen].sort())
}

test('the types have every field of openapi.json, with its type and its meaning, and no other', () => {
  assertAlike(readDocument(), readTypes('types.ts'))
})

test.for<[string, string, string]>([
  ['a field too many', '  titleMaori?:', '  /** Title. */\n  titleLatin?: string\n  titleMaori?:'],
  ['a field too few', '  titleMaori?: string\n', ''],
  ['another name', '  titleMaori?:', '  titleMāori?:'],
  ['another type', '  titleMaori?: string\n', '  titleMaori?: string[]\n'],
  ['one allowed value less', "'Primary' | 'Secondary'", "'Primary'"],
  ['a field that is always there', '  titleMaori?:', '  titleMaori:'],
  ['no comment', '  /** Title in te reo Māori. */\n', ''],
  ['another comment', '/** Title in te reo Māori. */', '/** Title. */'],
  ['another comment on an interface', '/** A minor group. */\nexport', '/** A group. */\nexport'],
  [
    'an interface too many',
    '/** A minor group. */\nexport',
    'export interface Extra {}\n/** A minor group. */\nexport',
  ],
])('types with %s are noticed', ([, before, after]) => {
  const types = readTypes('types.ts', (text) => {
    expect(text).toContain(before)
    return text.replace(before, after)
  })
  expect(() => assertAlike(readDocument(), types)).toThrow()
})

test.for<[string, (schemas: Record<string, Schema>) => void]>([
  [
    'a new field',
    ({ OccupationRecord }) => {
      Object.assign(OccupationRecord?.properties ?? {}, { titleLatin: { type: 'string', description: '' } })
    },
  ],
  [
    'a field less',
    ({ ValidationEntry }) => {
      delete ValidationEntry?.properties?.localId
    },
  ],
  [
    'a new field deep inside',
    ({ MajorGroup }) => {
      Object.assign(MajorGroup?.properties ?? {}, { nameLatin: { type: 'string', description: '' } })
    },
  ],
  [
    'a new schema',
    (schemas) => {
      schemas.Extra = { type: 'object', description: '', properties: {} }
    },
  ],
])('an openapi.json with %s is noticed', ([, change]) => {
  const document = readDocument()
  change(document.components.schemas)
  expect(document).not.toEqual(readDocument())
  expect(() => assertAlike(document, readTypes('types.ts'))).toThrow()
})

test('the error has every field of a problem', () => {
  const typesOf = (types: Interface | undefined) =>
    Object.fromEntries(
      Object.entries(types?.fields ?? {}).map(([name, { type, optional }]) => [name, { type, optional }]),
    )
  const problem = typesOf(readTypes('types.ts').ResultsProblem)
  expect(problem).toHaveProperty('detail')
  expect(typesOf(readTypes('errors.ts').MahiError)).toMatchObject(problem)
})

test('the queries have every parameter of openapi.json, and no other', () => {
  const parametersOf = (path: string) =>
    readDocument()
      .paths[path]?.get.parameters.filter((parameter) => parameter.in === 'query')
      .map(({ name, schema }) => {
        const type = schema.format === 'date-time' ? 'Date | string' : schema.type
        if (schema.items !== undefined) {
          return [name, schema.items.enum ? 'readonly (keyof OccupationRecord)[]' : 'readonly string[]']
        }
        const allowed = schema.enum?.map((text) => JSON.stringify(text)).sort()
        return [name, allowed?.join(' | ') ?? (type === 'integer' ? 'number' : type)]
      })

  const occupations = Object.entries(readTypes('occupations.ts').OccupationsQuery?.fields ?? {})
  expect(occupations.map(([, { doc, type }]) => [/^`(.+?)`: /.exec(doc)?.[1], type])).toEqual(
    parametersOf('/v1/occupations'),
  )
  for (const [name, { doc }] of occupations) {
    expect(doc.toLowerCase()).toMatch(new RegExp(`^\`(filter\\.)?${name.toLowerCase()}\`: `))
  }
  const results = Object.entries(readTypes('validation-results.ts').ResultsQuery?.fields ?? {})
  expect(results.map(([name, { doc, type }]) => [/^`(.+?)`: /.exec(doc)?.[1] ?? name, type])).toEqual(
    parametersOf('/v1/submissions/{submissionToken}/validation-results'),
  )
})

test.for([
  ['index.ts', ['Client', 'createClient']],
  ['errors.ts', ['FailureKind', 'MahiError']],
  ['request.ts', ['CallOptions', 'ClientOptions', 'ConnectionOptions', 'CredentialOptions', 'Fetch']],
  ['occupations.ts', ['Occupations', 'OccupationsQuery']],
  ['validation-results.ts', ['ReadAllOptions', 'ResultsQuery', 'ValidationResults']],
] as const)('every public name of %s says what it means, field by field', ([file, names]) => {
  const types = readTypes(file)
  const inherited = ['name', 'message', 'stack', 'cause']
  for (const name of names) {
    expect(types[name]?.doc, name).toMatch(/\w/)
    if (!/^(Client|Connection|Call|Read|Occupation|Results|Validation|MahiError)/.test(name)) continue
    const fields = Object.entries(types[name]?.fields ?? {}).filter(([field]) => !inherited.includes(field))
    expect(fields, name).not.toEqual([])
    for (const [field, { doc }] of fields) expect(doc, `${name}.${field}`).toMatch(/\w/)
  }
})
