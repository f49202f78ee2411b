/** The parts of the OpenAPI document that the reference shows. */
export interface ReferenceDocument {
  readonly info: { readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, ReferenceOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface ReferenceOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly ReferenceParameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> }
  readonly responses: Readonly<Record<string, ReferenceResponse>>
  /** Either of the ways to authenticate; an empty one permits callers without a credential. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

export interface ReferenceParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface ReferenceResponse {
  readonly description?: string
  readonly content?: Readonly<Record<string, MediaType>>
  readonly $ref?: string
}

interface MediaType {
  readonly schema?: Schema
  readonly example?: unknown
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly format?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
}
