import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { VERSIONS } from './versions.ts'

/** `/openapi.json`, generated from the routes registered after this, and `/docs`, a page that shows it. */
export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Mahi',
        // That of the interface: which release answers is not for everybody.
        version: VERSIONS[0].name,
        description:
          'An occupation catalogue in New Zealand English and te reo Māori, and the validation results of data submissions. Every field of every answer is optional: one without a value is absent.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'Occupations', description: 'The occupation catalogue.' },
        { name: 'Validation results', description: 'What is wrong with a data submission.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'A key. An X-Client-ID header, where one is sent, must name the client of the key.',
          },
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A key, or a JWT of the identity provider.',
          },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `schema-${index}`),
    },
  })
  app.get('/openapi.json', { schema: { hide: true }, config: { operation: 'openapi' } }, async () =>
    app.swagger(),
  )
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // The plugin's own policy allows other hosts, and has browsers ask for https where there is none.
    staticCSP: {
      'default-src': "'none'",
      'connect-src': "'self'",
      'font-src': "'self'",
      'img-src': "'self' data:",
      'script-src': "'self'",
      // The page's own script sets styles on its elements.
      'style-src': "'self' 'unsafe-inline'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    },
    uiConfig: { url: '/openapi.json', docExpansion: 'list', persistAuthorization: false },
    theme: { title: 'Mahi reference' },
  })
}
