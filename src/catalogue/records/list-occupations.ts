import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { fromCatalogue, ofCatalogue } from '../contract.ts'
import type { OccupationOptions } from '../operations.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { type NamedQuery, nameQuery } from './list-query.ts'
import {
  EntryRequirements,
  MajorGroup,
  MajorGroupRelation,
  MinorGroup,
  MinorGroupRelation,
  MissingOccupation,
  OccupationPage,
  OccupationRecord,
  occupationQuery,
  RegistrationAuthority,
  Renumeration,
} from './schema.ts'

/** Section 4.1 of the API specification. */
export function listOccupations({ catalogue, anonymous, limits }: OccupationOptions): Operation {
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupations',
    id: 'listOccupations',
    summary: 'List occupations',
    description:
      'A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until it is absent.',
    method: 'GET',
    path: '/occupations',
    request: { query: occupationQuery(limits), derive: nameQuery },
    schemas: {
      OccupationPage,
      MissingOccupation,
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
      200: describePage(OccupationPage, 'A page of records.', EXAMPLE_PAGE, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: COMMON_PROBLEMS,
  }).handle(
    ...fromCatalogue(
      catalogue,
      ({ query, received }: { query: NamedQuery; received: Readonly<Record<string, string>> }) =>
        withAllCodes(query, received, limits.max),
      (query) => catalogue.page(query),
    ),
  )
}

/** Without a limit of the caller, a page has all records that it names. */
function withAllCodes(
  named: NamedQuery,
  received: Readonly<Record<string, string>>,
  most: number,
): NamedQuery {
  const { Limit: limit, 'Filter.Codes': codes = [] } = named.query
  if (codes.length <= limit) return named
  const hasLimit = Object.entries(received).some(
    ([name, value]) => name.toLowerCase() === 'limit' && value !== '',
  )
  return hasLimit ? named : nameQuery({ ...named.query, Limit: Math.min(codes.length, most) })
}
