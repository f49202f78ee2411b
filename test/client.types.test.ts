import { expect, test } from 'vitest'
import { renderTypes } from '../client/render-types.ts'
import { readTypes } from '../client/test/read-types.ts'

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
