import { readFileSync } from 'node:fs'
import type { ParameterSchema } from './values.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path' | 'header'
  readonly required: boolean
  readonly schema: ParameterSchema
}

export interface Operation {
  readonly id: string
  /** As the document has it, such as `/v1/occupations`. */
  readonly path: string
  readonly parameters: readonly Parameter[]
}

interface Document {
  readonly paths: Record<string, Record<string, { operationId: string; parameters: Parameter[] }>>
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document

/** Those that the model of this test knows the responses of. */
const MODELLED = ['listOccupations', 'getValidationResults']

/** The operations of openapi.json that are tried. */
export const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.values(methods).flatMap(({ operationId, parameters }) =>
    MODELLED.includes(operationId) ? [{ id: operationId, path, parameters }] : [],
  ),
)
