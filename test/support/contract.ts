import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'

interface Described {
  headers?: Record<string, unknown>
  content?: Record<string, { schema: object }>
}
interface Document {
  paths: Record<string, { get: { responses: Record<string, Described> } }>
  components: { schemas: Record<string, object> }
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

const PATTERNS = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^(?:/v[^/]*)?${path.replace(/^\/v\d+/, '').replace(/\{[^}]+\}/g, '[^/]+')}$`),
}))

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

  const { responses } = document.paths[path]?.get ?? { responses: {} }
  const described = responses[response.statusCode]
  if (described === undefined) throw new Error(`openapi.json has no ${response.statusCode} for ${path}`)
  const undescribed = Object.keys(described.headers ?? {}).filter(
    (name) =>
      ['etag', 'www-authenticate', 'allow', 'retry-after'].includes(name) && !(name in response.headers),
  )
  if (undescribed.length > 0)
    throw new Error(`${path} ${response.statusCode} lacks ${undescribed.join(', ')}`)
  if (described.content === undefined || method === 'HEAD') return

  const type = String(response.headers['content-type']).split(';', 1)[0] ?? ''
  if (described.content[type] === undefined)
    throw new Error(`openapi.json has no ${type} for ${path} ${response.statusCode}`)
  if (response.headers['content-encoding'] !== undefined && !decoded) return
  if (type === 'application/x-ndjson') return
  const pointer = ['paths', path, 'get', 'responses', String(response.statusCode), 'content', type, 'schema']
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
