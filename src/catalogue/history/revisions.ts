import { basename } from 'node:path'
import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { upTo } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import { EXAMPLE_PAGE } from '../records/example.ts'
import { readRemoved } from '../records/replacements.ts'
import { MAX_CODE_LENGTH, type OccupationRecord } from '../records/schema.ts'
import { compareFields } from './fields.ts'
import {
  assertKept,
  type Difference,
  type DifferencesPart,
  RevisionUnknown,
  readDifferences,
} from './past.ts'
import { type CatalogueRevision, listRevisions } from './revision-log.ts'
import { OccupationDifferences, OccupationRevisions } from './revision-schema.ts'

/** The most revisions, or records, of one response, and the most parts of the changed codes that are examined for it. */
const MOST = 200
const MOST_PARTS = 4

const PATH = '/occupation-revisions'

const numberOf = (description: string) =>
  Type.Integer({ description, minimum: 0, maximum: 2 ** 31 - 1, format: 'int32' })

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
  payBasis: 'NZD 2025, New Zealand',
}

const [record = {}] = EXAMPLE_PAGE.data
const EXAMPLE_DIFFERENCES = {
  revision: 57,
  since: 56,
  differences: [{ occupationCode: 'A0101', after: record, fields: [] }],
  complete: true,
}

export function revisionOperations(database: Database): readonly Operation[] {
  const operation = operationsOf({
    tag: 'Occupations',
    // File names are for those who have a credential, even where anyone can read the records.
    access: withScope('occupations:read'),
    limit: 'occupations',
  })
  return [
    operation({
      name: 'occupation-revisions',
      id: 'listOccupationRevisions',
      summary: 'List revisions',
      description: 'The latest revisions of the catalogue, newest first, with their origins.',
      method: 'GET',
      path: PATH,
      request: {
        query: Type.Object({ Limit: upTo(MOST, 100, `Number of revisions, from 1 to ${MOST}.`) }),
      },
      responses: { 200: describeDocument(OccupationRevisions, 'The revisions.', { revisions: [EXAMPLE] }) },
    }).handle(async ({ query }) =>
      document({ revisions: (await listRevisions(database, query.Limit)).map(renderRevision) }),
    ),
    operation({
      name: 'occupation-revision',
      id: 'getOccupationRevision',
      summary: 'Compare revisions',
      description: 'The records that differ between a revision and the one before it, or another one.',
      method: 'GET',
      path: `${PATH}/{revision}`,
      request: {
        path: Type.Object({ revision: numberOf('Number of the revision.') }),
        query: Type.Object({
          Since: Type.Optional(
            numberOf('The revision that it is compared with; without it, the one before.'),
          ),
          After: Type.Optional(
            Type.String({
              description: 'The `next` of the response before, to read on.',
              maxLength: MAX_CODE_LENGTH,
            }),
          ),
        }),
      },
      responses: { 200: describeDocument(OccupationDifferences, 'The differences.', EXAMPLE_DIFFERENCES) },
      problems: { 'no-such-revision': 'A revision does not exist, or is no longer kept.' },
    }).handle(async ({ path: { revision }, query, refuse }) => {
      const { Since: since = Math.max(0, revision - 1), After: after = '' } = query
      return await database.snapshot(async (reader) => {
        try {
          await assertKept(reader, revision)
          await assertKept(reader, since)
        } catch (error) {
          if (error instanceof RevisionUnknown) throw refuse('no-such-revision', `${error.message}.`)
          throw error
        }
        const { found, next } = await readSome(reader, [since, revision], after)
        const differences = []
        for (const difference of found) differences.push(await render(reader, difference))
        return document({ revision, since, differences, complete: next === undefined, next })
      })
    }),
  ]
}

function renderRevision(revision: CatalogueRevision) {
  const { number, stored, command, files, created, updated, deleted, total, kept, payBasis } = revision
  return {
    revision: number,
    stored: formatTimestamp(stored),
    command,
    // Folders of the operator's machine are not for readers of the catalogue.
    files: files.map(({ name }) => basename(name)),
    created,
    updated,
    removed: deleted,
    totalCount: total,
    readable: kept,
    payBasis: payBasis || undefined,
  }
}

/** As many differences as one response lists, or examines codes for. */
async function readSome(reader: Reader, revisions: readonly [number, number], after: string) {
  const found: Difference[] = []
  let next: string | undefined = after
  for (let parts = 0; next !== undefined && parts < MOST_PARTS; parts++) {
    if (parts > 0) await takeTurn()
    const { differences, last }: DifferencesPart = await readDifferences(reader, revisions, next)
    found.push(...differences)
    next = last
    if (found.length > MOST) return { found: found.slice(0, MOST), next: found[MOST - 1]?.code }
  }
  return { found, next }
}

async function render(database: Reader, { code, before, after }: Difference) {
  const parse = (text: string | undefined) =>
    text === undefined ? undefined : (JSON.parse(text) as OccupationRecord)
  const { replacedBy = [] } = (after === undefined && (await readRemoved(database, code))) || {}
  return {
    occupationCode: code,
    before: parse(before),
    after: parse(after),
    fields: before !== undefined && after !== undefined ? compareFields(before, after) : [],
    replacedBy: replacedBy.length === 0 ? undefined : [...replacedBy],
  }
}
