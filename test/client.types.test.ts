import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderTypes } from '../client/render-types.ts'
import { readTypes } from '../client/test/read-types.ts'

interface Parameter {
  name: string
  in: string
  schema: { type?: string; format?: string; enum?: string[]; items?: { enum?: string[] } }
}
interface Document {
  paths: Record<string, { get: { parameters: Parameter[] } }>
}

const readDocument = () =>
  JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as Document

test('an object that the document does not name gets the name of its field, and a type without a rendering fails', () => {
  const text = { type: 'string', description: 'A text.' }
  const render = (properties: object) =>
    renderTypes({ components: { schemas: { Thing: { description: 'A thing.', properties } } } } as never)
  expect(render({ parts: { type: 'array', items: { properties: { name: text } } } })).toContain(
    `/** A thing. */
export interface Thing {
  parts?: ThingParts[]
}

`,
  )
  expect(render({ part: { properties: { name: text } } })).toContain(`export interface ThingPart {
  /** A text. */
  name?: string
}
`)
  expect(() => render({ other: { type: 'null' } })).toThrow('Thing.other: a schema of the type null')
})

test('the error has the members of every problem', () => {
  const problems = Object.entries(readTypes('types.ts')).filter(([name]) => name.endsWith('Problem'))
  expect(problems.length).toBeGreaterThan(3)
  const error = readTypes('errors.ts').MahiError?.fields ?? {}
  for (const [, { fields }] of problems)
    for (const [name, { type }] of Object.entries(fields)) expect(error[name]?.type, name).toBe(type)
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

  const types = readTypes('occupations.ts')
  for (const [query, path] of [
    ['OccupationsQuery', '/v1/occupations'],
    ['SearchQuery', '/v1/occupations/search'],
    ['SuggestionsQuery', '/v1/occupations/suggestions'],
    ['ConfirmedCodingsQuery', '/v1/confirmed-codings'],
  ] as const) {
    const fields = Object.entries(types[query]?.fields ?? {})
    const named = fields.map(([, { doc, type }]) => [/^`(.+?)`: /.exec(doc)?.[1], type])
    expect(named, query).toEqual(parametersOf(path))
    for (const [name, { doc }] of fields) {
      expect(doc.toLowerCase()).toMatch(new RegExp(`^\`(filter\\.)?${name.toLowerCase()}\`: `))
    }
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
