import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, flag, listOf, oneOf, pageNumbers } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { pageFields, sendPage } from '../submission/paging.ts'
import { isPartial, type Run } from '../submission/runs.ts'
import { type Selection, selectPosted } from './filters.ts'
import { answerFromCurrent, findingsPath, ofFindings, type ResultsOptions, readCompared } from './own.ts'
import { FIXED_FIELD, NEW_FIELD } from './postings.ts'
import { readDetails } from './read-findings.ts'
import { PublishedFinding } from './schema.ts'

const STATUSES = ['new', 'fixed', 'open'] as const

const ChangedEntry = Type.Object(
  {
    ...PublishedFinding.properties,
    status: oneOf(STATUSES, 'Whether only the current run, only the run before or both have the finding.'),
  },
  { description: 'A finding, and whether it is new, fixed or open.' },
)

const ResultsChanges = Type.Object(
  {
    from: count('The run before.'),
    to: count('The current run.'),
    newCount: count('Findings that only the current run has.'),
    fixedCount: count('Findings that only the run before had.'),
    openCount: count('Findings that both runs have.'),
    ...pageFields(listOf(ChangedEntry, 'New findings, then fixed, then open ones.'), 'Findings that match.'),
    partial: flag(
      'Whether not all findings of one of the runs are stored: what only one stores counts as new or fixed.',
    ),
  },
  { title: 'ResultsChanges', description: 'How the findings of the current run and the one before differ.' },
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

export function getChanges(options: ResultsOptions): Operation {
  const { database, sealer, limits } = options
  return ofFindings(options)({
    name: 'results-changes',
    id: 'getValidationResultsChanges',
    summary: 'Compare with the run before',
    description:
      'The findings that are new, fixed and still open since the run before the current one, with exact totals.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/changes',
    request: {
      path: TOKEN_PATH,
      query: Type.Object({
        status: oneOf(STATUSES, 'Only findings with this status.'),
        ...pageNumbers('Findings', limits),
      }),
    },
    responses: {
      200: describeDocument(ResultsChanges, 'A page of the comparison.', EXAMPLE, {
        ...NEXT_LINK,
      }),
    },
    problems: {
      'no-such-run': 'There is no run before the current one, or the findings are no longer stored.',
    },
  }).handle(async ({ authorized, query }) => {
    return await answerFromCurrent(database, authorized, async (reader, submission) => {
      const { from, to } = await readCompared(reader, submission)
      const added = await selectPosted(reader, to.run, NEW_FIELD)
      const fixed = await selectPosted(reader, to.run, FIXED_FIELD)
      const open = added.complement(to.total)
      const parts = [
        { status: 'new', selection: added, run: to },
        { status: 'fixed', selection: fixed, run: from },
        { status: 'open', selection: open, run: to },
      ].filter(({ status }) => query.status === undefined || query.status === status)
      const totalCount = parts.reduce((sum, { selection }) => sum + selection.total, 0)
      const { page, pageSize } = query
      const results: object[] = []
      for (const { status, run, ordinals } of slice(parts, (page - 1) * pageSize, pageSize)) {
        const details = await readDetails(reader, run, ordinals, sealer)
        results.push(...details.map((each) => ({ status, ...each })))
      }
      return sendPage(`${findingsPath(submission.token)}/changes`, query, {
        from: from.number,
        to: to.number,
        newCount: added.total,
        fixedCount: fixed.total,
        openCount: open.total,
        results,
        totalCount,
        partial: isPartial(from) || isPartial(to) || undefined,
      })
    })
  })
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
