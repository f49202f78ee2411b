import Type from 'typebox'

/** Optional fields of requests and responses, for the schemas of operations. */
export const text = (description: string) => Type.Optional(Type.String({ description }))
export const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))
/** A count that fits into 32 bits, as the interface declares its own. */
export const int32Count = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 0, format: 'int32' }))
/** One of a few values. */
export const oneOf = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Optional(Type.Unsafe<Name>({ type: 'string', enum: [...names], description }))
