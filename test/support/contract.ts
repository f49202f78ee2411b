import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'

interface Described {
  description?: string
  headers?: Record<string, unknown>
  content?: Record<string, { schema: object }>
}
interface Operation {
  responses: Record<string, Described>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; responses: Record<string, Described> }
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document
const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
const validators = new Map<string, ValidateFunction>()
ajv.addSchema({ $id: 'openapi', ...closeObjects(document) })

/** Every object that the document describes, with no further field allowed: an answer holds nothing undescribed. */
function closeObjects(value: Document): Document {
  return JSON.parse(JSON.stringify(value), (_, node) =>
    node !== null && typeof node === 'object' && node.type === 'object' && node.properties !== undefined
      ? { ...node, additionalProperties: false }
      : node,
  ) as Document
}

/** Fixed paths first, as the router prefers them. */
const PATHS = Object.keys(document.paths).sort(
  (one, other) => Number(one.includes('{')) - Number(other.includes('{')),
)

const PATTERNS = PATHS.map((path) => ({
  path,
  pattern: new RegExp(`^(?:/v[^/]*)?${path.replace(/^\/v\d+/, '').replace(/\{[^}]+\}/g, '[^/]+')}$`),
}))

/** Headers that a response has if they are described. */
const PROMISED = ['etag', 'www-authenticate', 'allow', 'retry-after']
/** Those of an error that any request can get. */
const NEEDED: Readonly<Record<number, readonly string[]>> = { 405: ['allow'], 503: ['retry-after'] }

/** Headers of HTTP itself, of caches, of browsers and of limits, which need no description everywhere. */
const UNDESCRIBED =
  /^(?:connection|content-(?:encoding|length|type|security-policy)|date|keep-alive|transfer-encoding|cache-control|vary|ratelimit(?:-policy)?|x-content-type-options|referrer-policy|(?:access-control|cross-origin)-.*)$/

/** Whether the description of the errors that any request can get names this one. */
function isShared({ statusCode, headers }: Pick<LightMyRequestResponse, 'statusCode' | 'headers'>): boolean {
  const { description = '' } = document.components.responses.Error ?? {}
  return (
    description.includes(`- ${statusCode}: `) &&
    String(headers['content-type']).startsWith('application/problem+json')
  )
}

/**
 * Fails unless openapi.json describes the answer: its status, media type, body and headers.
 *
 * @param decoded whether a body that was compressed is given as it was before
 */
export function assertDescribed(
  request: Pick<InjectOptions, 'url' | 'method'>,
  response: Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>,
  { decoded = false } = {},
): void {
  const target = typeof request.url === 'string' ? request.url : (request.url?.pathname ?? '')
  const path = PATTERNS.find(({ pattern }) => pattern.test(target.split('?', 1)[0] ?? ''))?.path
  const method = request.method ?? 'GET'
  if (path === undefined || method === 'OPTIONS') return

  const operations = document.paths[path] ?? {}
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
  // A method that the path does not support is refused with an error that any request can get.
  const named = operations[verb]?.responses[response.statusCode]
  const described = named ?? (isShared(response) ? document.components.responses.Error : undefined)
  if (described === undefined)
    throw new Error(`openapi.json has no ${response.statusCode} for ${method} ${path}`)
  const expected =
    named === undefined ? (NEEDED[response.statusCode] ?? []) : Object.keys(described.headers ?? {})
  // A conflict ends by itself only if it is with work.
  const promised = response.statusCode === 409 ? [] : PROMISED
  const missing = expected.filter((name) => promised.includes(name) && !(name in response.headers))
  if (missing.length > 0) throw new Error(`${path} ${response.statusCode} lacks ${missing.join(', ')}`)
  const names = Object.keys(described.headers ?? {}).map((name) => name.toLowerCase())
  const undescribed = Object.keys(response.headers).filter(
    (name) => !UNDESCRIBED.test(name) && !names.includes(name),
  )
  if (undescribed.length > 0)
    throw new Error(`openapi.json has no ${undescribed.join(', ')} for ${path} ${response.statusCode}`)
  if (described.content === undefined || method === 'HEAD') return

  const type = String(response.headers['content-type']).split(';', 1)[0] ?? ''
  if (described.content[type] === undefined)
    throw new Error(`openapi.json has no ${type} for ${path} ${response.statusCode}`)
  if (response.headers['content-encoding'] !== undefined && !decoded) return
  if (!type.endsWith('json') || type === 'application/x-ndjson') return
  const place =
    named === undefined
      ? ['components', 'responses', 'Error']
      : ['paths', path, verb, 'responses', String(response.statusCode)]
  const pointer = [...place, 'content', type, 'schema']
    .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/')
  // Compiling a schema costs more than the request that it describes.
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#/${pointer}` })
  validators.set(pointer, validate)
  if (!validate(JSON.parse(response.body))) {
    throw new Error(
      `openapi.json does not describe this answer of ${path}: ${ajv.errorsText(validate.errors)}`,
    )
  }
}
