import TypeBox from 'typebox'
import { expect, test } from 'vitest'
import { Type } from '../src/foundation/schema/type.ts'

/** The same schemas by either builder, with every function and with other keywords. */
const build = (Builder: typeof Type) => {
  const Shared = Builder.String({ $id: 'Shared', minLength: 1 })
  return [
    Builder.Object({}),
    Builder.Object({}, { $id: 'Empty', additionalProperties: false }),
    Builder.Object({ all: Builder.Optional(Builder.Boolean()) }),
    Builder.Object(
      {
        text: Shared,
        perhaps: Builder.Optional(Shared),
        whole: Builder.Integer({ minimum: 1, default: 20 }),
        number: Builder.Number(),
        list: Builder.Optional(Builder.Array(Shared, { description: 'Texts.', minItems: 1 })),
        kept: Builder.Unsafe<string>(Builder.Optional(Shared)),
        told: Builder.Optional(Builder.Unsafe<string>({ ...Shared, description: 'One.' })),
        again: Shared,
        any: Builder.Unknown({ description: 'Any value.' }),
        map: Builder.Optional(
          Builder.Record(Builder.String(), Builder.Array(Builder.String()), { title: 'Map' }),
        ),
      },
      { $id: 'Whole', description: 'All of it.' },
    ),
  ]
}

test('schemas are what TypeBox builds', () => {
  const own = build(Type)
  expect(own).toEqual(build(TypeBox))
  // In the documents, the order of keywords is kept too, but for `required`, which is among the first.
  expect(own[3]).toMatchObject({ required: ['text', 'whole', 'number', 'again', 'any'] })
})
