import type * as TypeBox from 'typebox'

export type { Static, TObject, TOptional, TSchema } from 'typebox'

/** What is rendered as JSON of a schema: JSON leaves out what is undefined, and nothing changes it any more. */
export type Rendered<Schema extends TypeBox.TSchema> = Sparse<TypeBox.Static<Schema>>
type Sparse<Value> = Value extends readonly (infer Item)[]
  ? readonly Sparse<Item>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value]:
          | Sparse<Value[Name]>
          | (Record<never, never> extends Pick<Value, Name> ? undefined : never)
      }
    : Value

type Options = Readonly<Record<string, unknown>>

/** TypeBox's mark of a field that an object may lack. It is hidden, so that no document shows it. */
const OPTIONAL = '~optional'

/** A schema of one type, with its other keywords. */
const make = (type: string) => (options?: Options) => ({ type, ...options })

/**
 * Builds schemas of JSON Schema 2020-12 as TypeBox does, with its types, from which those of the values are inferred.
 * Only the types are TypeBox's: its code is 373 modules, and was a quarter of the time in which a command starts.
 */
export const Type = {
  Array: (items: object, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: make('boolean'),
  Integer: make('integer'),
  Number: make('number'),
  Object: (properties: Readonly<Record<string, object>>, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
  },
  Optional: (schema: object) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  Record: (_: object, values: object, options?: Options) => ({
    type: 'object',
    patternProperties: { '^.*$': values },
    ...options,
  }),
  String: make('string'),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: object) => schema,
} as unknown as Pick<
  typeof TypeBox.Type,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Unknown'
  | 'Unsafe'
>
