import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Reader } from '../database/database.ts'
import { describePage, NEXT_LINK, NOT_MODIFIED } from '../http/describe.ts'
import { MIN_REVISION_HEADER, readMinRevision } from '../http/min-revision.ts'
import { RemovedOccupationProblemBody, SimilarCodesProblemBody } from '../http/problems.ts'
import { declare, notModified, type Operation, page } from '../operation.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import { digestQuery } from '../pages/page.ts'
import { remember } from '../text/remember.ts'
import type { Catalogue, CatalogueDocument, DocumentName } from './catalogue.ts'
import { EXAMPLE_GROUPS, EXAMPLE_PAGE } from './example.ts'
import { CountedMajorGroup, CountedMinorGroup, OccupationGroups } from './group-schema.ts'
import { readGroup, readGroups } from './groups.ts'
import { type NamedQuery, nameQuery } from './list-query.ts'
import { readRecord } from './lookup.ts'
import {
  EntryRequirements,
  MAX_CODE_LENGTH,
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
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Records per page. */
  readonly limits: { readonly default: number; readonly max: number }
}

export function occupationOperations(options: OccupationOptions): readonly Operation[] {
  return [listOccupations(options), getOccupation(options), listGroups(options), getGroup(options)]
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
      // If the caller's version is known to be current, no page is read.
      const etag = catalogue.etag(query, least)
      if (etag !== undefined && isFresh(etag)) return notModified(etag)
      return whenKnown(catalogue.page(query, least), (found) =>
        page(found, () => catalogue.reweigh(query, found)),
      )
    },
  })
}

/** The properties that all operations of the catalogue share. */
function ofCatalogue(anonymous: boolean) {
  return {
    tag: 'Occupations',
    method: 'GET',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching: anonymous ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache',
    authorizingHeaders: Type.Object(MIN_REVISION_HEADER),
  } as const
}

const PROBLEMS = {
  'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
  unauthorized: 'There is no valid credential.',
  'too-many-requests': 'The limit of requests is used up for now.',
  'precondition-failed': 'The catalogue has not reached the revision that X-Min-Revision names.',
} as const

const codeIn = (description: string) =>
  Type.Object({ code: Type.String({ description, maxLength: MAX_CODE_LENGTH }) })

/** Creates the names of documents of one kind, by code. */
function namesOf(path: string): (code: string) => DocumentName {
  return remember((code) => {
    const key = `${path}/${code}`
    return { key, digest: digestQuery(key) }
  })
}

/** Responds with a document of the catalogue, or with 304 if that is known without a read. */
function answerDocument(
  catalogue: Catalogue,
  name: DocumentName,
  { request, isFresh }: { request: FastifyRequest; isFresh(etag: string): boolean },
  read: (reader: Reader) => Promise<CatalogueDocument>,
) {
  const least = readMinRevision(request, 'c')
  const etag = catalogue.etag(name, least)
  // `*` matches any existing document, and only a read shows whether it exists.
  const known = etag !== undefined && request.headers['if-none-match']?.trim() !== '*'
  if (known && isFresh(etag)) return notModified(etag)
  return whenKnown(catalogue.document(name, read, least), (found) =>
    page(found, () => catalogue.reweigh(name, found)),
  )
}

function getOccupation({ catalogue, anonymous }: OccupationOptions): Operation {
  const nameOf = namesOf('/occupations')
  return declare<{ code: string }>({
    ...ofCatalogue(anonymous),
    name: 'occupation',
    id: 'getOccupation',
    summary: 'Get an occupation',
    description: 'The record of one occupation, byte for byte as in the list.',
    path: '/occupations/{code}',
    parameters: { path: codeIn('The occupation code.') },
    schemas: {
      OccupationRecord,
      SimilarCodesProblem: SimilarCodesProblemBody,
      RemovedOccupationProblem: RemovedOccupationProblemBody,
    },
    responses: {
      200: describePage('OccupationRecord', 'The record.', EXAMPLE_PAGE.data[0] ?? {}),
      304: NOT_MODIFIED,
    },
    problems: {
      ...PROBLEMS,
      'no-such-occupation': 'No occupation has this code. `similarCodes` lists codes that resemble it.',
      'occupation-removed':
        'The occupation was removed from the catalogue: `removedDate` says when, and `replacedBy` lists its successors.',
    },
    handle: (input) =>
      answerDocument(catalogue, nameOf(input.path.code), input, (reader) =>
        readRecord(reader, input.path.code),
      ),
  })
}

const GROUP_SCHEMAS = {
  OccupationMajorGroup: CountedMajorGroup,
  OccupationMinorGroup: CountedMinorGroup,
  OccupationGroups,
  SimilarCodesProblem: SimilarCodesProblemBody,
}

function listGroups({ catalogue, anonymous }: OccupationOptions): Operation {
  const name = { key: '/occupation-groups', digest: digestQuery('/occupation-groups') }
  return declare({
    ...ofCatalogue(anonymous),
    name: 'occupation-groups',
    id: 'listOccupationGroups',
    summary: 'List groups',
    description:
      'Every major and minor group that an occupation belongs to, by code, with the number of its occupations.',
    path: '/occupation-groups',
    schemas: GROUP_SCHEMAS,
    responses: {
      200: describePage('OccupationGroups', 'The groups.', EXAMPLE_GROUPS),
      304: NOT_MODIFIED,
    },
    problems: PROBLEMS,
    handle: (input) => answerDocument(catalogue, name, input, readGroups),
  })
}

function getGroup({ catalogue, anonymous }: OccupationOptions): Operation {
  const nameOf = namesOf('/occupation-groups')
  return declare<{ code: string }>({
    ...ofCatalogue(anonymous),
    name: 'occupation-group',
    id: 'getOccupationGroup',
    summary: 'Get a group',
    description:
      'The major group with a code, the minor group with it, or both: the two kinds are numbered separately.',
    path: '/occupation-groups/{code}',
    parameters: { path: codeIn('The code of a major or a minor group.') },
    schemas: GROUP_SCHEMAS,
    responses: {
      200: describePage('OccupationGroups', 'The groups with this code.', EXAMPLE_GROUPS),
      304: NOT_MODIFIED,
    },
    problems: {
      ...PROBLEMS,
      'no-such-group': 'No group has this code. `similarCodes` lists codes that resemble it.',
    },
    handle: (input) =>
      answerDocument(catalogue, nameOf(input.path.code), input, (reader) =>
        readGroup(reader, input.path.code),
      ),
  })
}
