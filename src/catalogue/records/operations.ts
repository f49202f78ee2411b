import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NEXT_LINK, NOT_MODIFIED, SPECIFIED_BAD_REQUEST } from '../../api/contract/describe.ts'
import type { Catalogue } from './catalogue.ts'
import { type CodeInPath, codeIn, fromCatalogue, readingOperations } from './contract.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { type NamedQuery, nameQuery } from './list-query.ts'
import { readRecord } from './lookup.ts'
import { OccupationPage, OccupationRecord, occupationQuery } from './schema.ts'

interface OccupationOptions {
  readonly catalogue: Catalogue
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Records per page. */
  readonly limits: { readonly default: number; readonly max: number }
}

const PATH = '/occupations'

export function occupationOperations(options: OccupationOptions): readonly Operation[] {
  const { catalogue, anonymous, limits } = options
  const operation = readingOperations(anonymous)
  return [
    // Section 4.1 of the API specification.
    operation({
      name: 'occupations',
      id: 'listOccupations',
      summary: 'List occupations',
      description:
        'A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until it is absent.',
      method: 'GET',
      path: PATH,
      request: { query: occupationQuery(limits), derive: nameQuery },
      responses: {
        200: describePage(OccupationPage, 'A page of records.', EXAMPLE_PAGE, NEXT_LINK),
        304: NOT_MODIFIED,
      },
      badRequest: SPECIFIED_BAD_REQUEST,
      parameterFaultMembers: () => ({}),
    }).handle(
      ...fromCatalogue(
        catalogue,
        ({ query, received }: { query: NamedQuery; received: Readonly<Record<string, string>> }) =>
          withAllCodes(query, received, limits.max),
        (query) => catalogue.page(query),
      ),
    ),
    operation({
      name: 'occupation',
      id: 'getOccupation',
      summary: 'Get an occupation',
      description: 'The record of one occupation, byte for byte as in the list.',
      method: 'GET',
      path: `${PATH}/{code}`,
      request: { path: codeIn('The occupation code.') },
      responses: {
        200: describePage(OccupationRecord, 'The record.', EXAMPLE_PAGE.data[0] ?? {}),
        304: NOT_MODIFIED,
      },
      problems: {
        'no-such-occupation': 'No occupation has this code. `similarCodes` lists codes that resemble it.',
        'occupation-removed':
          'The occupation was removed from the catalogue: `removedDate` says when, and `replacedBy` lists its successors.',
      },
    }).handle(
      ...fromCatalogue(
        catalogue,
        ({ path }: CodeInPath) => ({ key: `${PATH}/${path.code}` }),
        ({ key }, { path }) => catalogue.rendered(key, (reader) => readRecord(reader, path.code)),
      ),
    ),
  ]
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
