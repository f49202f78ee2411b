import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { count, listOf, text } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { Cause } from '../submission/cause.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { readFinished } from '../submission/runs.ts'
import { ofFindings, type ResultsOptions } from './own.ts'
import { answerAboutRuns } from './run-page.ts'

const ResultsCauses = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    runId: count('The current run; absent before the first.'),
    causes: listOf(Cause, 'Errors before warnings, causes before consequences, then by records.'),
    note: text('Why there are no causes although there are findings.'),
  },
  { title: 'ResultsCauses', description: 'What to fix in a submission, in order.' },
)

const EXAMPLE: Static<typeof ResultsCauses> = {
  submissionToken: 'sample-submission',
  runId: 1,
  causes: [
    {
      key: 'column:enrolments.courseStartDate:day-month-year',
      kind: 'column',
      severity: 'Error',
      file: 'enrolments.csv',
      field: 'courseStartDate',
      codes: ['ENR-06-type'],
      findings: 1500,
      records: 1500,
      learners: 400,
      sentence: 'courseStartDate: all 1,500 values are in a form other than year-month-day.',
      fix: 'Write dates as year-month-day, such as 2025-02-17.',
      example: {
        file: 'enrolments.csv',
        line: 2,
        field: 'courseStartDate',
        value: '17/02/2025',
        description: 'courseStartDate is "17/02/2025", but must be a date such as 2025-02-17.',
      },
    },
  ],
}

const WITHOUT_CAUSES = 'These findings were published without causes. The summary lists them by code.'

export function getCauses(options: ResultsOptions): Operation {
  const { database, sealer } = options
  const answer = answerAboutRuns(database, 'causes', async (reader, submission) => {
    const { run, summary } = (await readFinished(reader, submission.run, sealer)) ?? {}
    return {
      submissionToken: submission.token,
      runId: run?.number,
      causes: summary?.causes ?? [],
      note: submission.totalCount > 0 && summary?.causes === undefined ? WITHOUT_CAUSES : undefined,
    }
  })
  return ofFindings(options)({
    name: 'results-causes',
    id: 'getValidationResultsCauses',
    summary: 'List the causes of validation results',
    description:
      'What to fix, instead of every finding: each finding of the current run belongs to exactly one cause. A key is the same in other runs.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/causes',
    request: { path: TOKEN_PATH },
    responses: {
      200: describePage(ResultsCauses, 'The causes.', EXAMPLE),
      304: NOT_MODIFIED,
    },
  }).handle(({ authorized, isFresh }) => answer(authorized, isFresh))
}
