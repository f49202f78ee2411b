import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import { EXAMPLE_PAGE } from '../records/example.ts'
import { MAX_CODE_LENGTH, OccupationRecord } from '../records/schema.ts'
import { compareFields } from './fields.ts'
import type { HistoryOptions } from './operations.ts'
import {
  assertKept,
  type Difference,
  type DifferencesPart,
  RevisionUnknown,
  readDifferences,
} from './past.ts'
import { readRemoved } from './replacements.ts'
import { FieldDifference, OccupationDifference, OccupationDifferences } from './revision-schema.ts'

/** The most records of one response, and the most parts of the changed codes that are examined for it. */
const MOST = 200
const MOST_PARTS = 4

const numberOf = (description: string) =>
  Type.Integer({ description, minimum: 0, maximum: 2 ** 31 - 1, format: 'int32' })

const [record = {}] = EXAMPLE_PAGE.data
const EXAMPLE = {
  revision: 57,
  since: 56,
  differences: [{ occupationCode: 'A0101', after: record, fields: [] }],
  complete: true,
}

export function getOccupationRevision({ database }: Pick<HistoryOptions, 'database'>): Operation {
  return operation({
    name: 'occupation-revision',
    id: 'getOccupationRevision',
    summary: 'Compare revisions',
    description: 'The records that differ between a revision and the one before it, or another one.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupation-revisions/{revision}',
    access: withScope('occupations:read'),
    limit: 'occupations',
    request: {
      path: Type.Object({ revision: numberOf('Number of the revision.') }),
      query: Type.Object({
        Since: Type.Optional(numberOf('The revision that it is compared with; without it, the one before.')),
        After: Type.Optional(
          Type.String({
            description: 'The `next` of the response before, to read on.',
            maxLength: MAX_CODE_LENGTH,
          }),
        ),
      }),
    },
    schemas: { OccupationRecord, FieldDifference, OccupationDifference, OccupationDifferences },
    responses: { 200: describeDocument(OccupationDifferences, 'The differences.', EXAMPLE) },
    problems: { ...COMMON_PROBLEMS, 'not-found': 'A revision does not exist, or is no longer kept.' },
  }).handle(async ({ path: { revision }, query, refuse }) => {
    const { Since: since = Math.max(0, revision - 1), After: after = '' } = query
    return await database.snapshot(async (reader) => {
      try {
        await assertKept(reader, revision)
        await assertKept(reader, since)
      } catch (error) {
        if (error instanceof RevisionUnknown) throw refuse('not-found', `${error.message}.`)
        throw error
      }
      const { found, next } = await readSome(reader, [since, revision], after)
      const differences = []
      for (const difference of found) differences.push(await render(reader, difference))
      const rest = next !== undefined && { next }
      return document({ revision, since, differences, complete: next === undefined, ...rest })
    })
  })
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
  const parse = (text: string) => JSON.parse(text) as OccupationRecord
  const { replacedBy = [] } = (after === undefined && (await readRemoved(database, code))) || {}
  return {
    occupationCode: code,
    ...(before !== undefined && { before: parse(before) }),
    ...(after !== undefined && { after: parse(after) }),
    fields: before !== undefined && after !== undefined ? compareFields(before, after) : [],
    ...(replacedBy.length > 0 && { replacedBy: [...replacedBy] }),
  }
}
