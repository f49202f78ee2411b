import { readFileSync } from 'node:fs'

/** The part of JSON Schema that parameters and bodies use. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean
  readonly items?: Schema
}

interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** As in the document, such as `/v1/occupations/{code}`. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** The schema of the body by media type; absent if the operation reads none. */
  readonly body: Readonly<Record<string, { readonly schema?: Schema }>> | undefined
  /** The statuses that the document describes for this operation. */
  readonly statuses: readonly number[]
  /** The scope that it needs; empty if it needs none. */
  readonly scope: string
}

interface Described {
  readonly security: readonly [Readonly<Record<string, readonly string[]>>, ...unknown[]]
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: NonNullable<Operation['body']> }
  readonly responses: Readonly<Record<string, unknown>>
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly responses: { readonly Error: { readonly description: string } } }
}

export const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(
    ([method, { operationId, parameters = [], requestBody, responses, security }]) => ({
      scope: Object.values(security[0])[0]?.[0] ?? '',
      id: operationId,
      method: method.toUpperCase(),
      path,
      parameters,
      body: requestBody?.content,
      statuses: Object.keys(responses)
        .filter((status) => status !== 'default')
        .map(Number),
    }),
  ),
)

/** The methods that each path supports. */
export const METHODS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.keys(methods).map((method) => method.toUpperCase()),
  ]),
)

/** The statuses that any request can get. */
export const ANYWHERE: readonly number[] = [
  ...document.components.responses.Error.description.matchAll(/^- (\d{3}): /gm),
].map(([, status]) => Number(status))
