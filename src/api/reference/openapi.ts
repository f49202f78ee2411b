import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { describeSharedErrors } from '../contract/describe.ts'
import { VERSIONS } from '../request/versions.ts'
import { StaticPage } from '../serving/static-page.ts'
import { shapeDocument } from './shape.ts'

const DESCRIPTION = `An occupation catalogue in New Zealand English and te reo Māori, and the validation results of data submissions.

Every field of every response is optional: a field without a value is absent.

## Getting a key

The operator of this service creates API keys with \`mahi keys create --client NAME\`, which prints the key once. Send it in the \`X-API-Key\` header or as \`Authorization: Bearer\`. On the reference page at [/docs](/docs), enter it under Authorize.

## Errors

Every error is \`application/problem+json\` (RFC 9457). Each operation describes its own errors; those that any request can get are described once, as the response \`default\`. [/problems](/problems) explains every type.`

/** Serves `/openapi.json`, generated from the operations registered after this call. */
export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Mahi',
        // The version of the API. The release that responds is not public.
        version: VERSIONS[0].name,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'Occupations', description: 'The occupation catalogue.' },
        { name: 'Validation results', description: 'The errors and warnings of a data submission.' },
        { name: 'Submissions', description: 'Data submissions: their files, runs, findings and receipts.' },
        { name: 'Returns', description: 'What all organisations have submitted for a return.' },
        { name: 'Rules', description: 'The rules that submissions are checked with.' },
        { name: 'Credential', description: 'What the credential of a request allows.' },
        { name: 'Operation', description: 'The state of the service, and its organisations.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'An API key. If X-Client-ID is sent too, it must be the client of the key.',
          },
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'An API key, or a JWT from the identity provider.',
          },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `schema-${index}`),
    },
    // Pages for people, such as those of the console, are no operations.
    transform: ({ schema, url }) => ({
      url,
      schema: schema?.operationId === undefined ? { ...schema, hide: true } : schema,
    }),
    transformObject: (document) =>
      'openapiObject' in document
        ? liftStyles(shapeDocument(document.openapiObject, describeSharedErrors()))
        : document.swaggerObject,
  })
  let page: StaticPage | undefined
  app.get(
    '/openapi.json',
    { schema: { hide: true }, config: { operation: 'openapi' } },
    async (request, reply) => {
      page ??= new StaticPage(JSON.stringify(app.swagger()), {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-cache',
      })
      return await page.send(request, reply)
    },
  )
}

/** Moves the style of a list in a query from its schema, with which an operation declares it, to its parameter. */
function liftStyles<Document>(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_, node) => {
    if (node?.in !== 'query' || node.schema?.style === undefined) return node
    const { style, explode, ...schema } = node.schema
    return { ...node, style, explode, schema }
  }) as Document
}
