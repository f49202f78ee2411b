import Type from 'typebox'
import type { Reader } from '../database/database.ts'
import { describeDocument } from '../http/describe.ts'
import { count, oneOf, text } from '../http/fields.ts'
import { Problem } from '../http/problems.ts'
import { declare, document, type Operation } from '../operation.ts'
import { PageCache } from '../pages/page-cache.ts'
import { type Comparison, compareRuns } from './compare.ts'
import { RunGone, readDetails, type Selection } from './filters.ts'
import { assertThere, EID_HEADER, findOwnSubmission, type Own, type ResultsOptions } from './own.ts'
import type { Submission } from './queries.ts'
import { findRun, type Run, readRun } from './runs.ts'
import { ValidationEntry } from './schema.ts'

const STATUSES = ['new', 'fixed', 'open'] as const

const ChangedEntry = Type.Object(
  {
    ...ValidationEntry.properties,
    status: oneOf(STATUSES, 'Whether the earlier run, the later run or both have the finding.'),
    file: text('The file of the record.'),
    line: Type.Optional(Type.Integer({ description: 'The line on which the record starts.', minimum: 1 })),
    field: text('The field concerned.'),
    value: text('Its value.'),
    findingKey: text('Identifies the same finding in other runs, whatever the order of the records.'),
  },
  { description: 'A finding, and whether it is new, fixed or open.' },
)

export const ResultsChanges = Type.Object(
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
  },
  { description: 'How the findings of two runs differ.' },
)

const EXAMPLE = {
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
  readonly from?: number
  readonly to?: number
  readonly status?: string
  readonly page: number
  readonly pageSize: number
}

/** Memory for cached comparisons, in bytes. */
const KEPT = 16 * 2 ** 20

const runNumber = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 1, maximum: 2 ** 31 - 1, format: 'int32' }))

export function getChanges({ access, reader, primary, sealer, limits }: ResultsOptions): Operation {
  const readers = reader === primary ? [reader] : [reader, primary]
  const kept = new PageCache<Weighed>(KEPT)
  return declare<{ submissionToken: string }, ChangesQuery, unknown, unknown, Own>({
    name: 'results-changes',
    id: 'getValidationResultsChanges',
    summary: 'Compare two runs',
    description:
      'The findings that are new, fixed and still open between an earlier run and the current one, or a later one, with exact totals.',
    tag: 'Validation results',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/changes',
    limit: 'validation-results',
    authorizingHeaders: EID_HEADER,
    parameters: {
      path: Type.Object({
        submissionToken: Type.String({ description: 'The token of the submission.' }),
      }),
      query: {
        schema: Type.Object({
          from: runNumber('The `runId` of the earlier run. Required.'),
          to: runNumber('The `runId` of the later run; the current one where absent.'),
          status: oneOf(STATUSES, 'Only findings with this status.'),
          page: Type.Optional(
            Type.Integer({ description: 'Page number, from 1.', minimum: 1, default: 1, format: 'int32' }),
          ),
          pageSize: Type.Optional(
            Type.Integer({
              description: `Findings per page, from 1 to ${limits.max}.`,
              minimum: 1,
              maximum: limits.max,
              default: limits.default,
              format: 'int32',
            }),
          ),
        }),
      },
    },
    schemas: { ResultsChanges },
    responses: { 200: describeDocument('ResultsChanges', 'A page of the comparison.', EXAMPLE) },
    problems: {
      'invalid-parameters': 'A parameter is invalid, or the version is not supported.',
      unauthorized:
        'Not authorised: the credential, the EID and the token do not belong together. The response does not say which is wrong.',
      'not-found': 'The submission has no such run, or it is no longer stored.',
      gone: 'The submission was cancelled, and its data was deleted.',
      'too-many-requests': 'The rate limit is exceeded.',
    },
    authorize: ({ request, path }) =>
      findOwnSubmission(access, readers, request, path.submissionToken, 'results-changes'),
    async handle({ authorized: { submission, reader: where }, query }) {
      assertThere(submission)
      const { from, to } = await findRuns(where, submission, query)
      const key = `${from.run}/${to.run}/${to.completed}`
      const known = kept.get(key)
      const compared = known ?? weigh(await compareRuns(where, toReference(from), toReference(to), sealer))
      if (known === undefined) kept.set(key, compared)
      const { added, fixed, open } = compared.comparison
      const parts = [
        { status: 'new', selection: added, run: to },
        { status: 'fixed', selection: fixed, run: from },
        { status: 'open', selection: open, run: to },
      ].filter(({ status }) => query.status === undefined || query.status === status)
      const totalCount = parts.reduce((sum, { selection }) => sum + selection.total, 0)
      const { page, pageSize } = query
      assertPage(page, pageSize, totalCount)
      const results: object[] = []
      for (const { status, run, ordinals } of slice(parts, (page - 1) * pageSize, pageSize)) {
        const details = await readDetails(where, toReference(run), ordinals, sealer).catch(refuseGone)
        results.push(...details.map((each) => ({ status, ...each })))
      }
      return document({
        from: from.number,
        to: to.number,
        newCount: added.total,
        fixedCount: fixed.total,
        openCount: open.total,
        page,
        pageSize,
        results,
        totalCount,
      })
    },
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
  if (from === undefined) throw new Problem('invalid-parameters', 'from is missing: name the earlier run.')
  const earlier = await findRun(reader, token, from)
  const later = to === undefined ? await readRun(reader, run) : await findRun(reader, token, to)
  if (earlier?.status === 'Processed' && later?.status === 'Processed') return { from: earlier, to: later }
  throw new Problem(
    'not-found',
    'The submission has no finished run with this ID, or it is no longer stored.',
  )
}

/** @throws {Problem} for a page past the last one */
function assertPage(page: number, pageSize: number, totalCount: number): void {
  const lastPage = Math.max(1, Math.ceil(totalCount / pageSize))
  if (page <= lastPage) return
  throw new Problem('invalid-parameters', `page is ${page}, past the last page, ${lastPage}.`, {
    members: { errorCode: 'PR2' },
  })
}

function refuseGone(error: unknown): never {
  if (error instanceof RunGone) throw new Problem('not-found', 'The run is not kept any more.')
  throw error
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
