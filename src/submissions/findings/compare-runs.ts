import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, flag, int32From1, oneOf, pageNumbers } from '../../api/contract/fields.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { cacheUpTo } from '../../api/serving/page-cache.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../contract.ts'
import { type Comparison, compareRuns } from './compare.ts'
import type { Selection } from './filters.ts'
import { assertPage, findingsPath, linkNextPage } from './next-page.ts'
import {
  answerFromCurrent,
  assertFinished,
  FINDINGS_PROBLEMS,
  forFindings,
  type ResultsOptions,
} from './own.ts'
import type { Submission } from './queries.ts'
import { readDetails } from './read-findings.ts'
import { findRun, isPartial, type Run, readRun } from './runs.ts'
import { PublishedFinding } from './schema.ts'

const STATUSES = ['new', 'fixed', 'open'] as const

const ChangedEntry = Type.Object(
  {
    ...PublishedFinding.properties,
    status: oneOf(STATUSES, 'Whether the earlier run, the later run or both have the finding.'),
  },
  { description: 'A finding, and whether it is new, fixed or open.' },
)

const ResultsChanges = Type.Object(
  {
    from: count('The earlier run.'),
    to: count('The later run.'),
    newCount: count('Findings that only the later run has.'),
    fixedCount: count('Findings that only the earlier run has.'),
    openCount: count('Findings that both runs have.'),
    page: count('Page number of this page, from 1.'),
    pageSize: count('Page size of this page.'),
    results: Type.Optional(
      Type.Array(ChangedEntry, { description: 'New findings, then fixed, then open ones.' }),
    ),
    totalCount: count('Findings that match.'),
    partial: flag(
      'Whether not all findings of one of the runs are stored: what only one stores counts as new or fixed. Of a run before the last two, no findings are stored: `fixedCount` counts them, and `results` lacks them.',
    ),
  },
  { description: 'How the findings of two runs differ.' },
)

const EXAMPLE: Static<typeof ResultsChanges> = {
  from: 1,
  to: 2,
  newCount: 0,
  fixedCount: 1,
  openCount: 11,
  page: 1,
  pageSize: 100,
  results: [{ status: 'fixed', localId: 'L0000001', errorCode: 'LEA-07-required', errorType: 'Error' }],
  totalCount: 12,
}

interface ChangesQuery {
  readonly from: number
  readonly to?: number | undefined
  readonly status?: string
  readonly page: number
  readonly pageSize: number
}

/** Memory for cached comparisons, in bytes. */
const KEPT = 16 * 2 ** 20

export function getChanges({ database, sealer, limits }: ResultsOptions): Operation {
  const kept = cacheUpTo<Weighed>(KEPT)
  return operation({
    name: 'results-changes',
    id: 'getValidationResultsChanges',
    summary: 'Compare two runs',
    description:
      'The findings that are new, fixed and still open between an earlier run and the current one, or a later one, with exact totals.',
    tag: 'Validation results',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/changes',
    access: forFindings(database),
    limit: 'validation-results',
    request: {
      path: TOKEN_PATH,
      query: Type.Object({
        from: int32From1('The `runId` of the earlier run.'),
        to: Type.Optional(int32From1('The `runId` of the later run; the current one where absent.')),
        status: oneOf(STATUSES, 'Only findings with this status.'),
        ...pageNumbers('Findings', limits),
      }),
    },
    schemas: { ResultsChanges },
    responses: {
      200: describeDocument(ResultsChanges, 'A page of the comparison.', EXAMPLE, {
        ...NEXT_LINK,
      }),
    },
    problems: {
      ...FINDINGS_PROBLEMS,
      'not-found': 'The submission has no such run, or it is no longer stored.',
    },
  }).handle(async ({ authorized, query }) => {
    return await answerFromCurrent(database, authorized, async (reader, submission) => {
      const { from, to } = await findRuns(reader, submission, query)
      const key = `${from.run}/${to.run}/${to.completed}`
      const known = kept.get(key)
      const compared = known ?? weigh(await compareRuns(reader, toReference(from), toReference(to), sealer))
      if (known === undefined) kept.set(key, compared)
      const { added, fixed, open } = compared.comparison
      const parts = [
        { status: 'new', selection: added, run: to },
        ...(from.trimmed === null ? [{ status: 'fixed', selection: fixed, run: from }] : []),
        { status: 'open', selection: open, run: to },
      ].filter(({ status }) => query.status === undefined || query.status === status)
      const totalCount = parts.reduce((sum, { selection }) => sum + selection.total, 0)
      const { page, pageSize } = query
      assertPage(query, totalCount)
      const results: object[] = []
      for (const { status, run, ordinals } of slice(parts, (page - 1) * pageSize, pageSize)) {
        const details = await readDetails(reader, toReference(run), ordinals, sealer)
        results.push(...details.map((each) => ({ status, ...each })))
      }
      const body = {
        from: from.number,
        to: to.number,
        newCount: added.total,
        fixedCount: fixed.total,
        openCount: open.total,
        page,
        pageSize,
        results,
        totalCount,
        ...((isPartial(from) || isPartial(to) || from.trimmed !== null) && { partial: true }),
      }
      const path = `${findingsPath(submission.token)}/changes`
      return document(body, linkNextPage(path, query, totalCount))
    })
  })
}

interface Weighed {
  readonly comparison: Comparison
  readonly weight: number
}

function weigh(comparison: Comparison): Weighed {
  const { added, fixed, open } = comparison
  return { comparison, weight: added.weight + fixed.weight + open.weight }
}

function toReference({ run, total }: Run) {
  return { run, totalCount: total }
}

async function findRuns(
  reader: Reader,
  { token, run }: Submission,
  { from, to }: ChangesQuery,
): Promise<{ from: Run; to: Run }> {
  const earlier = await findRun(reader, token, from)
  const later = to === undefined ? await readRun(reader, run) : await findRun(reader, token, to)
  if (later !== undefined && later.trimmed !== null)
    throw new Problem(
      'not-found',
      'The findings of the later run are no longer stored, only those of the last two runs. Leave out `to` to compare with the current run.',
    )
  return { from: assertFinished(earlier), to: assertFinished(later) }
}

/** The ordinals of a page across several selections in sequence. */
function* slice(
  parts: readonly { status: string; selection: Selection; run: Run }[],
  first: number,
  count: number,
): Generator<{ status: string; run: Run; ordinals: number[] }> {
  let skip = first
  let left = count
  for (const { status, selection, run } of parts) {
    const ordinals = skip < selection.total && left > 0 ? selection.slice(skip, left) : []
    skip = Math.max(0, skip - selection.total)
    left -= ordinals.length
    if (ordinals.length > 0) yield { status, run, ordinals }
  }
}
