import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument } from '../../api/contract/describe.ts'
import { upTo } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import { Type } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { HistoryOptions } from './operations.ts'
import { type CatalogueRevision, listRevisions } from './revision-log.ts'
import { OccupationRevision, OccupationRevisions } from './revision-schema.ts'

/** The most revisions of one response. */
const MOST = 200

const QUERY = Type.Object({ Limit: upTo(MOST, 100, `Number of revisions, from 1 to ${MOST}.`) })

const EXAMPLE = {
  revision: 57,
  stored: '2026-01-31T09:30:00.000Z',
  command: 'import',
  files: ['occupations.csv'],
  created: 2,
  updated: 11,
  removed: 1,
  totalCount: 42,
  readable: true,
}

export function listOccupationRevisions({ database }: Pick<HistoryOptions, 'database'>): Operation {
  return operation({
    name: 'occupation-revisions',
    id: 'listOccupationRevisions',
    summary: 'List revisions',
    description: 'The latest revisions of the catalogue, newest first, with their origins.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupation-revisions',
    // File names are for those who have a credential, even where anyone can read the records.
    access: withScope('occupations:read'),
    limit: 'occupations',
    request: { query: QUERY },
    schemas: { OccupationRevision, OccupationRevisions },
    responses: { 200: describeDocument(OccupationRevisions, 'The revisions.', { revisions: [EXAMPLE] }) },
    problems: COMMON_PROBLEMS,
  }).handle(async ({ query }) =>
    document({ revisions: (await listRevisions(database, query.Limit)).map(renderRevision) }),
  )
}

function renderRevision(revision: CatalogueRevision) {
  const { number, stored, command, files, created, updated, deleted, total, kept } = revision
  return {
    revision: number,
    ...(stored > 0 && { stored: formatTimestamp(stored) }),
    command,
    files: files.map(({ name }) => name),
    created,
    updated,
    removed: deleted,
    totalCount: total,
    readable: kept,
  }
}
