import { type Static, type TOptional, type TSchema, Type } from '../../foundation/schema/type.ts'

/** Optional fields of requests and responses, for the schemas of operations. */
export const text = (description: string) => Type.Optional(Type.String({ description }))
export const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))
/** A count that fits into 32 bits, as the interface declares its own. */
export const int32Count = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 0, format: 'int32' }))
/** One of a few values; a required field. */
export const choice = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Unsafe<Name>({ type: 'string', enum: [...names], description })
export const oneOf = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Optional(choice(names, description))

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
    page: withDefault(
      Type.Integer({
        description: 'Page number, from 1.',
        minimum: 1,
        maximum: 1_000_000,
        format: 'int32',
      }),
      1,
    ),
    pageSize: withDefault(
      Type.Integer({
        description: `${items} per page, from 1 to ${pageSize.max}.`,
        minimum: 1,
        maximum: pageSize.max,
        format: 'int32',
      }),
      pageSize.default,
    ),
  }
}

/** A parameter that the caller may leave out. */
export function withDefault<Schema extends TSchema>(schema: Schema, value: Static<Schema>) {
  return Type.Optional({ ...schema, default: value }) as unknown as TOptional<Schema> & Defaulted
}
