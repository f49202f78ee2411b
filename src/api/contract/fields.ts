import { type Static, type TOptional, type TSchema, Type } from '../../foundation/schema/type.ts'

interface TextLimits {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}

/** Optional fields of requests and responses, for the schemas of operations. */
export const text = (description: string, limits: TextLimits = {}) =>
  Type.Optional(Type.String({ description, ...limits }))
export const time = (description: string) => Type.Optional(Type.String({ description, format: 'date-time' }))
export const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
export const strings = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))
export const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))
/** A count that fits into 32 bits, as the interface declares its own. */
export const int32Count = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 0, format: 'int32' }))
export const oneOf = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Optional(choice(names, description))
/** A list of a schema, which the OpenAPI document describes under its own name if it has one. */
export const listOf = <Item extends TSchema>(item: Item, description: string) =>
  Type.Optional(
    Type.Array(titleOf(item) === undefined ? Type.Unsafe<Static<Item>>(item) : refer(item), { description }),
  )
/** An object without a name of its own. */
export const object = <Fields extends Record<string, TSchema>>(fields: Fields, description: string) =>
  Type.Optional(Type.Object(fields, { description }))

/** One of a few values. */
export const choice = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Unsafe<Name>({ type: 'string', enum: [...names], description })
/** A whole number from 1 that fits into 32 bits. */
export const int32From1 = (description: string) =>
  Type.Integer({ description, minimum: 1, maximum: 2 ** 31 - 1, format: 'int32' })

/** Finds the schema that a reference names. No document shows it. */
const REFERRED = Symbol('referred')

/** Refers to a schema by its title, under which the OpenAPI document describes it. */
export const refer = <Schema extends TSchema>(schema: Schema) =>
  Type.Unsafe<Static<Schema>>({ $ref: `${titleOf(schema)}#`, [REFERRED]: schema } as unknown as TSchema)

/** The title of a schema that has its own description in the OpenAPI document; other objects have none. */
export const titleOf = (schema: object): string | undefined =>
  'title' in schema && typeof schema.title === 'string' && 'type' in schema && schema.type === 'object'
    ? schema.title
    : undefined

/**
 * The schemas with a title within another one, and those that they refer to.
 *
 * @param seen what has been listed already: most schemas are those of many operations
 */
export function* listTitled(schema: unknown, seen: Set<object>): Generator<TSchema> {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return
  seen.add(schema)
  if (titleOf(schema) !== undefined) yield schema
  for (const each of Object.values({ ...schema, referred: (schema as { [REFERRED]?: object })[REFERRED] }))
    yield* listTitled(each, seen)
}

/** Marks a field that is always present, because it has a default. */
export interface Defaulted {
  readonly '~defaulted': true
}

/**
 * The parameters of a list that is read by page number.
 *
 * @param items what a page contains, as the beginning of a sentence
 */
export function pageNumbers(items: string, pageSize: { readonly default: number; readonly max: number }) {
  return {
    page: upTo(1_000_000, 1, 'Page number, from 1.'),
    pageSize: upTo(pageSize.max, pageSize.default, `${items} per page, from 1 to ${pageSize.max}.`),
  }
}

/** A whole number from 1, which the caller may leave out. */
export function upTo(most: number, usual: number, description: string) {
  return withDefault(Type.Integer({ description, minimum: 1, maximum: most, format: 'int32' }), usual)
}

/** A parameter that the caller may leave out. */
export function withDefault<Schema extends TSchema>(schema: Schema, value: Static<Schema>) {
  return Type.Optional({ ...schema, default: value }) as unknown as TOptional<Schema> & Defaulted
}
