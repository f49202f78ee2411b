import Type from 'typebox'
import { describePage, NEXT_LINK, NOT_MODIFIED } from '../http/describe.ts'
import { MIN_REVISION_HEADER, readMinRevision } from '../http/min-revision.ts'
import { declare, notModified, type Operation, page } from '../operation.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import type { Catalogue } from './catalogue.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { type NamedQuery, nameQuery } from './list-query.ts'
import {
  EntryRequirements,
  MajorGroup,
  MajorGroupRelation,
  MinorGroup,
  MinorGroupRelation,
  OccupationPage,
  OccupationRecord,
  occupationQuery,
  RegistrationAuthority,
  Renumeration,
} from './schema.ts'

export interface OccupationOptions {
  readonly catalogue: Catalogue
  /** Whether the catalogue is open to callers without a credential. */
  readonly anonymous: boolean
  /** Records a page. */
  readonly limits: { readonly default: number; readonly max: number }
}

export function occupationOperations(options: OccupationOptions): readonly Operation[] {
  return [listOccupations(options)]
}

/** Section 4.1 of the API specification. */
function listOccupations({ catalogue, anonymous, limits }: OccupationOptions): Operation {
  return declare<unknown, NamedQuery>({
    name: 'occupations',
    id: 'listOccupations',
    summary: 'List occupations',
    description:
      'A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until it is absent.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching: anonymous ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache',
    authorizingHeaders: Type.Object(MIN_REVISION_HEADER),
    parameters: { query: { schema: occupationQuery(limits), derive: nameQuery } },
    schemas: {
      OccupationPage,
      OccupationRecord,
      MinorGroupRelation,
      MinorGroup,
      MajorGroupRelation,
      MajorGroup,
      EntryRequirements,
      Renumeration,
      RegistrationAuthority,
    },
    responses: {
      200: describePage('OccupationPage', 'A page of records.', EXAMPLE_PAGE, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
      unauthorized: 'There is no valid credential.',
      'too-many-requests': 'The limit of requests is used up for now.',
      'precondition-failed': 'The catalogue has not reached the revision that X-Min-Revision names.',
    },
    handle({ request, query, isFresh }) {
      const least = readMinRevision(request, 'c')
      // Where it is known what the caller has, no page need be read.
      const etag = catalogue.etag(query, least)
      if (etag !== undefined && isFresh(etag)) return notModified(etag)
      return whenKnown(catalogue.page(query, least), (found) =>
        page(found, () => catalogue.reweigh(query, found)),
      )
    },
  })
}
