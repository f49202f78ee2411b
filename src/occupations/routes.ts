import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { type Access, admit } from '../access/admit.ts'
import {
  describeErrors,
  describePage,
  NEXT_LINK,
  NOT_MODIFIED,
  nameSchemas,
  SECURITY,
  VERSION_HEADER,
} from '../http/describe.ts'
import { compileQuery, describeFaults, queryOf } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import { assertAcceptsJson, isFresh, PageSender, type SendOptions } from '../pages/send.ts'
import { remember } from '../text/remember.ts'
import type { Catalogue } from './catalogue.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { nameQuery, type OccupationQuery } from './list-query.ts'
import { OccupationPage, OccupationRecord, occupationQuery } from './schema.ts'

export interface OccupationRouteOptions {
  readonly catalogue: Catalogue
  readonly access: Access
  /** Records a page. */
  readonly limits: { readonly default: number; readonly max: number }
  readonly send: SendOptions
}

/** List occupations: section 4.1 of the interface. */
export function registerOccupations(
  app: FastifyInstance,
  { catalogue, access, limits, send }: OccupationRouteOptions,
): void {
  const querySchema = occupationQuery(limits)
  const readQuery = compileQuery<OccupationQuery>(querySchema)
  const read = remember((text) => {
    const { values, faults } = readQuery(text)
    return { faults, named: nameQuery(values) }
  })
  const sender = new PageSender(
    send,
    'occupations',
    access.publicOccupations ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache',
  )

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
    (request, reply) => {
      assertAcceptsJson(request)
      const { faults, named } = read(queryOf(request.url))
      if (faults.length > 0) throw new Problem('invalid-parameters', describeFaults(faults))

      // Where it is known what the caller has, no page need be read.
      const etag = catalogue.etag(named)
      if (isFresh(request, etag)) return sender.sendNotModified(request, reply, etag)
      return whenKnown(catalogue.page(named), (page) =>
        sender.send(request, reply, page, () => catalogue.reweigh(named, page)),
      )
    },
  )
}
