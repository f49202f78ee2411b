import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { compileSchema, compileText, SINGLE_LINE } from '../src/foundation/schema/compile.ts'

/** The messages of a reader of JSON values. */
function complain(schema: object, value: unknown): string[] {
  return compileSchema(schema)(value).faults.map(({ field, message }) => `${field} ${message}`.trim())
}

/** Every keyword of JSON Schema 2020-12 in one schema that has it, with a value that it refuses. */
const CHECKED: readonly [string, object, unknown, string][] = [
  ['type', Type.Boolean(), 1, 'must be true or false, not 1'],
  ['enum', { type: 'string', enum: ['a', 'b', 'c'] }, 'd', 'must be a, b or c, not "d"'],
  ['minimum', Type.Number({ minimum: 1 }), 0, 'must be at least 1, not 0'],
  ['maximum', Type.Number({ maximum: 1 }), 2, 'must be at most 1, not 2'],
  ['format', Type.String({ format: 'date-time' }), 'today', 'must be an RFC 3339 date-time'],
  ['minLength', Type.String({ minLength: 3 }), 'ab', 'is 2 characters long; at least 3 are required'],
  ['maxLength', Type.String({ maxLength: 1 }), 'ab', 'is 2 characters long; at most 1 are allowed'],
  ['pattern', Type.String({ pattern: '^[a-z]+$' }), 'A', 'must match ^[a-z]+$, not "A"'],
  ['pattern', Type.String({ pattern: SINGLE_LINE }), 'a\nb', 'must be one line without tabs'],
  ['items', Type.Array(Type.Integer()), ['a'], '[0] must be a whole number'],
  ['minItems', Type.Array(Type.Integer(), { minItems: 2 }), [1], 'must have at least 2 items, not 1'],
  ['maxItems', Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2], 'has 2 items; at most 1 are allowed'],
  ['properties', Type.Object({ a: Type.Boolean() }), { a: 1 }, 'a must be true or false'],
  ['required', Type.Object({ a: Type.Boolean() }), {}, 'a is missing'],
  ['additionalProperties', Type.Object({}, { additionalProperties: false }), { b: 1 }, 'unknown field "b"'],
]

const ANNOTATIONS = { title: 'A', description: 'a', default: 'a', examples: ['a'], deprecated: true }

/** Keywords that no reader implements. */
const REFUSED = `
  multipleOf exclusiveMinimum exclusiveMaximum contains minContains maxContains
  prefixItems unevaluatedItems patternProperties propertyNames minProperties maxProperties
  unevaluatedProperties dependentRequired dependentSchemas const allOf anyOf
  oneOf not if then else contentEncoding
  contentMediaType contentSchema readOnly writeOnly $ref $dynamicRef
  $anchor $dynamicAnchor $defs $id $schema $vocabulary
  $comment
`
  .trim()
  .split(/\s+/)

describe('a keyword of JSON Schema 2020-12 is checked, describes, or is refused at the start', () => {
  test.each(CHECKED)('%s is checked', (_, schema, value, message) => {
    expect(complain(schema, value)).toEqual([expect.stringContaining(message)])
  })

  test('annotations are allowed', () => {
    expect(complain({ type: 'string', ...ANNOTATIONS }, 'b')).toEqual([])
  })

  test.each(REFUSED)('%s is refused', (keyword) => {
    for (const type of ['string', 'integer', 'array', 'object'])
      expect(() => compileSchema({ type, properties: {}, items: { type }, [keyword]: {} })).toThrow(TypeError)
    expect(() => compileSchema({ type: 'string', [keyword]: {} })).toThrow(keyword)
  })

  test.each([
    [Type.Integer({ minimum: 1, maximum: 9 }), [1, 9], [0, 10, 1.5, '1']],
    [Type.Number({ minimum: 1, maximum: 9 }), [1, 9, 1.5], [0.99, 9.01, Number.NaN]],
    [Type.String({ minLength: 2, maxLength: 3 }), ['😀😀', '😀😀😀'], ['😀', '😀😀😀😀']],
    [
      Type.Array(Type.Integer(), { minItems: 2, maxItems: 3 }),
      [
        [1, 2],
        [1, 2, 3],
      ],
      [[1], [1, 2, 3, 4]],
    ],
  ] as [object, unknown[], unknown[]][])(
    'a limit is allowed, and nothing beyond it: %j',
    (schema, allowed, refused) => {
      for (const value of allowed) expect([value, complain(schema, value)]).toEqual([value, []])
      for (const value of refused)
        expect([value, complain(schema, value)]).toEqual([value, [expect.any(String)]])
    },
  )

  test.each([
    ['a format', Type.String({ format: 'email' })],
    ['a format of a number', Type.Number({ format: 'int64' })],
    ['a type', Type.Null()],
    ['alternatives that are not texts', { enum: [1, 2] }],
    ['a boolean schema for further fields', { type: 'object', properties: {}, additionalProperties: {} }],
    ['a default that does not fit', Type.Integer({ default: 'a', minimum: 1 })],
  ])('%s without a reader is refused', (_, schema) => {
    expect(() => compileSchema(schema)).toThrow(TypeError)
  })
})

test.each([
  ['a number', Type.Number({ minimum: 1, maximum: 2 }), [1, 2], [0.999, 2.001]],
  ['a whole number', Type.Integer({ minimum: 1, maximum: 3 }), [1, 3], [0, 4, 1.5]],
  [
    'a text, in code points',
    Type.String({ minLength: 2, maxLength: 3 }),
    ['😀😀', '😀😀😀'],
    ['😀', '😀😀😀😀'],
  ],
  ['a pattern, in code points', Type.String({ pattern: '^.{2}$' }), ['ab', '😀a'], ['a', '😀', 'abc']],
  ['a list', Type.Array(Type.Boolean(), { minItems: 2, maxItems: 2 }), [[true, true]], [[true]]],
])('the limits of %s belong to it', (_, schema, accepted, refused) => {
  for (const value of accepted) expect(complain(schema, value)).toEqual([])
  for (const value of refused) expect(complain(schema, value)).toHaveLength(1)
})

test('a text with a combining mark is read as NFC, in a body and in a parameter', () => {
  expect(compileSchema(Type.String())('Ma\u0304ori').value).toBe('Māori')
  expect(compileText(Type.String())('Ma\u0304ori')).toEqual({ value: 'Māori' })
})

test('a default of a body is its value where the field is absent', () => {
  const schema = Type.Object({ size: Type.Optional(Type.Integer({ default: 20 })) })
  expect(compileSchema(schema)({}).value).toEqual({ size: 20 })
  expect(compileSchema(schema)({ size: null }).value).toEqual({ size: 20 })
  expect(compileSchema(schema)({ size: 'x' }).value).toBeUndefined()
})

test('further fields never reach the prototype of an object', () => {
  const schema = Type.Object({}, { additionalProperties: true })
  const { value, faults } = compileSchema(schema)(JSON.parse('{"toString":1,"__proto__":{"a":1}}'))
  expect(Object.getPrototypeOf(value)).toBeNull()
  expect(Object.keys(value as object)).toEqual(['toString', '__proto__'])
  expect(faults).toEqual([])
})

test.each([
  ['minLength', Type.String({ minLength: 3 }), 'ab', 'at least 3'],
  ['pattern', Type.String({ pattern: '^[a-z]+$' }), 'A', 'must match'],
  ['minItems', Type.Array(Type.String(), { minItems: 2 }), 'a', 'at least 2'],
  ['enum', { type: 'string', enum: ['a'] }, 'b', 'must be a'],
  ['type', Type.Boolean(), 'yes', 'must be true or false'],
  ['items', Type.Array(Type.Integer()), '1,a', 'item 2 must be a whole number'],
])('%s is checked in parameters too', (_, schema, text, message) => {
  expect(compileText(schema)(text).fault).toContain(message)
})

test('a parameter is a whole number in digits only, and text in NFC', () => {
  const read = compileText(Type.Integer({ minimum: 1, maximum: 100 }))
  expect([read('1').value, read('100').value]).toEqual([1, 100])
  for (const text of ['0', '101', '+1', '1e1', '1.0', ' 1', '0x1', ''])
    expect([text, read(text).value]).toEqual([text, undefined])
  expect(compileText(Type.String({ maxLength: 5 }))('Ma\u0304ori')).toEqual({ value: 'Māori' })
})

test('an object cannot be read from a parameter', () => {
  expect(() => compileText(Type.Object({}))).toThrow('cannot be read from text')
})
