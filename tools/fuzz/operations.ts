import { readFileSync } from 'node:fs'
import type { ParameterSchema } from './values.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path' | 'header'
  readonly required: boolean
  readonly schema: ParameterSchema
}

/** The parts of JSON Schema that bodies use. */
export interface BodySchema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, BodySchema>>
  readonly additionalProperties?: boolean
  readonly items?: BodySchema
}

export interface Operation {
  readonly id: string
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** As the document has it, such as `/v1/occupations`. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** The schema of the body by media type; absent where the operation reads none. */
  readonly body: Readonly<Record<string, { schema: BodySchema }>> | undefined
  /** The statuses that the document describes for this operation alone. */
  readonly statuses: readonly number[]
}

interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        parameters?: Parameter[]
        requestBody?: { content: Record<string, { schema: BodySchema }> }
        responses: Record<string, unknown>
      }
    >
  >
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document

/** Every operation of openapi.json. */
export const ALL_OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => ({
      id: operationId,
      method: method.toUpperCase() as Operation['method'],
      path,
      parameters,
      body: requestBody?.content,
      statuses: Object.keys(responses)
        .filter((status) => status !== 'default')
        .map(Number),
    })),
)

/** Those whose response to a request the model of this test can tell. */
const MODELLED = ['listOccupations', 'getValidationResults']
export const OPERATIONS = ALL_OPERATIONS.filter(({ id }) => MODELLED.includes(id))
