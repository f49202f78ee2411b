import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, listOf, text, withDefault } from '../../api/contract/fields.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { pageFields, sendPage } from '../submission/paging.ts'
import { type FinishedRun, readFinished } from '../submission/runs.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { readColumns } from './columns.ts'
import { type Filters, ordinalsOf, type Selection, selectEntries, selectPosted } from './filters.ts'
import { answerFromCurrent, findingsPath, ofFindings, type ResultsOptions, readCompared } from './own.ts'
import { CAUSE_FIELD, NEW_FIELD } from './postings.ts'
import { readDetails } from './read-findings.ts'
import { PublishedFinding, resultsQuery } from './schema.ts'

const FindingsPage = Type.Object(
  {
    runId: count('The current run; absent before the first.'),
    ...pageFields(
      listOf(PublishedFinding, 'The findings, in the order of the files and their records.'),
      'All stored findings that match.',
    ),
    columns: listOf(
      Type.Object({
        fileType: Type.String({ description: 'The kind of file.' }),
        file: Type.String({ description: 'Its name, as in its findings.' }),
        columns: Type.Array(Type.String(), { description: 'The names in its header row.' }),
      }),
      'The columns of the CSV files of this page, by which `recordText` can be split; those of a file that was replaced after the check are missing.',
    ),
  },
  { title: 'FindingsPage', description: 'A page of findings with their places.' },
)

const EXAMPLE: Static<typeof FindingsPage> = {
  runId: 1,
  page: 1,
  pageSize: 100,
  results: [
    {
      localId: 'E0000001',
      errorCode: 'ENR-06-type',
      errorDescription: 'courseStartDate is "17/02/2025", but must be a date such as 2025-02-17.',
      errorType: 'Error',
      fileType: 'Enrolment',
      file: 'enrolments.csv',
      line: 2,
      field: 'courseStartDate',
      value: '17/02/2025',
      cause: 'column:enrolments.courseStartDate:day-month-year',
    },
  ],
  totalCount: 1500,
}

/** Lists findings with what only exports had: file, line, field, value and cause. The specified pages stay as they are. */
export function listFindings(options: ResultsOptions): Operation {
  const { database, sealer, limits } = options
  return ofFindings(options)({
    name: 'list-findings',
    id: 'listFindings',
    summary: 'List findings with their places',
    description:
      'A page of the stored findings of the current run, each with its file, line, field, value and cause. Filters combine with AND; `Filter.Cause` selects those of one cause, and `onlyNew` those that the run before did not have.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/findings',
    request: {
      path: TOKEN_PATH,
      query: Type.Object({
        ...resultsQuery(limits).properties,
        'Filter.Cause': text('Only findings of the cause with this key.', { maxLength: 2000 }),
        onlyNew: withDefault(
          Type.Boolean({ description: 'Only findings that the run before did not have.' }),
          false,
        ),
      }),
    },
    responses: {
      200: describeDocument(FindingsPage, 'The findings.', EXAMPLE, NEXT_LINK),
    },
    problems: {
      'no-such-run': 'There is no run before the current one, or the findings are no longer stored.',
      'no-such-cause': 'The current run has no such cause.',
    },
  }).handle(async ({ authorized, query }) => {
    return await answerFromCurrent(database, authorized, async (reader, submission) => {
      const { page, pageSize } = query
      const current = await readFinished(reader, submission.run, sealer)
      const selected = await select(reader, submission, current, query, sealer)
      const totalCount = selected?.total ?? submission.totalCount
      const ordinals = ordinalsOf(selected, totalCount, (page - 1) * pageSize, pageSize)
      const results = await readDetails(reader, submission, ordinals, sealer)
      const columns = current === undefined ? [] : await readColumns(reader, sealer, current, results)
      return sendPage(`${findingsPath(submission.token)}/findings`, query, {
        runId: current?.run.number,
        results,
        totalCount,
        columns,
      })
    })
  })
}

/** The findings that are wanted; `undefined` if all are. */
async function select(
  reader: Reader,
  submission: SubmissionRow,
  current: FinishedRun | undefined,
  query: Filters & { readonly 'Filter.Cause'?: string; readonly onlyNew: boolean },
  sealer: ResultsOptions['sealer'],
): Promise<Selection | undefined> {
  const { run } = submission
  const { 'Filter.Cause': cause, onlyNew } = query
  let selected = await selectEntries(reader, submission, query, sealer)
  const narrow = (found: Selection) => (selected = selected?.and(found) ?? found)
  if (cause !== undefined) {
    const at = current?.summary.causeKeys.indexOf(cause) ?? -1
    if (at < 0) throw new Problem('no-such-cause', 'The current run has no cause with this key.')
    narrow(await selectPosted(reader, run, CAUSE_FIELD, [String(at)]))
  }
  if (onlyNew) {
    await readCompared(reader, submission)
    narrow(await selectPosted(reader, run, NEW_FIELD))
  }
  return selected
}
