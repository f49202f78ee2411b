import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { type Access, admit } from '../access/admit.ts'
import type { Backlog } from '../http/backlog.ts'
import {
  describeErrors,
  describePage,
  NEXT_LINK,
  NOT_MODIFIED,
  nameSchemas,
  SECURITY,
  VERSION_HEADER,
} from '../http/describe.ts'
import { Problem } from '../http/problems.ts'
import { compileQuery, describeFaults, queryOf } from '../http/query-parameters.ts'
import { assertAcceptsJson, isFresh, sendNotModified, sendPage } from '../http/send-page.ts'
import type { Catalogue } from './catalogue.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { type OccupationQuery, writeQuery } from './query.ts'
import { OccupationPage, OccupationRecord, occupationQuery } from './schema.ts'

export interface OccupationRouteOptions {
  readonly catalogue: Catalogue
  readonly access: Access
  /** Records a page. */
  readonly limits: { readonly default: number; readonly max: number }
  /** Whether finished pages are kept, and so compressed. */
  readonly compress: boolean
  readonly backlog: Backlog
}

/** List occupations: section 4.1 of the interface. */
export function registerOccupations(
  app: FastifyInstance,
  { catalogue, access, limits, compress, backlog }: OccupationRouteOptions,
): void {
  const querySchema = occupationQuery(limits)
  const readQuery = compileQuery<OccupationQuery>(querySchema)
  const cacheControl = access.publicOccupations
    ? 'public, max-age=60, stale-while-revalidate=600'
    : 'private, no-cache'

  nameSchemas(app, { OccupationRecord, OccupationPage })
  app.get(
    '/occupations',
    {
      config: { operation: 'occupations' },
      onRequest: admit(access, {
        operation: 'occupations',
        scope: 'occupations:read',
        anonymous: access.publicOccupations,
      }),
      schema: {
        operationId: 'listOccupations',
        summary: 'List occupations',
        description:
          'A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until it is absent.',
        tags: ['Occupations'],
        security: access.publicOccupations ? [{}, ...SECURITY] : SECURITY,
        headers: Type.Object(VERSION_HEADER),
        querystring: querySchema,
        response: {
          200: describePage('OccupationPage', 'A page of records.', EXAMPLE_PAGE, NEXT_LINK),
          304: NOT_MODIFIED,
          ...describeErrors(
            {
              'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
              unauthorized: 'There is no valid credential.',
              'too-many-requests': 'The limit of requests is used up for now.',
            },
            { schemaName: 'Problem', detail: 'Limit is "500", and should be a whole number from 1 to 100.' },
          ),
        },
      },
    },
    async (request, reply) => {
      assertAcceptsJson(request)
      const { values: query, faults } = readQuery(queryOf(request.url))
      if (faults.length > 0) throw new Problem('invalid-parameters', describeFaults(faults))

      const key = writeQuery(query)
      if (isFresh(request, () => catalogue.etag(key)))
        return sendNotModified(reply, catalogue.etag(key), cacheControl)
      const page = await catalogue.page(query, key)
      return sendPage(request, reply, page, {
        cacheControl,
        compress,
        backlog,
        onGrown: (grown) => catalogue.reweigh(key, grown),
      })
    },
  )
}
