import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { count, flag, listOf, refer, text } from '../../api/contract/fields.ts'
import { FILE_TYPES, SEVERITIES } from '../../engines/checking/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { isPartial, readFinished } from '../submission/runs.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { ValidationEntry } from '../submission/validation-entry.ts'
import { NotRun, renderNotRun } from './not-run.ts'
import { ofFindings, type ResultsOptions } from './own.ts'
import { answerAboutRuns } from './run-page.ts'

const ResultsSummary = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    returnId: text('The return of the submission.'),
    runId: count('The current run; absent before the first.'),
    errorCount: count('Errors in all.'),
    warningCount: count('Warnings in all.'),
    totalCount: count('Entries that are stored.'),
    partial: flag('Whether not all findings are stored: `stored` of a code says how many are.'),
    definition: Type.Optional(
      Type.Object({
        name: text('Name of the definition.'),
        version: text('Its version.'),
        title: text('The data that it describes.'),
        notice: text('A notice that reports show.'),
      }),
    ),
    codes: listOf(
      Type.Object({
        errorCode: text('The code.'),
        errorType: text(`${SEVERITIES.join(' or ')}.`),
        fileType: text(`The file: ${FILE_TYPES.join(', ')}.`),
        count: count('How often it was found; exact.'),
        stored: count('How many of those are stored, where not all are.'),
        share: Type.Optional(
          Type.Number({
            description:
              'Its findings for each record in the files of its `fileType`; more than 1 if records have several.',
            minimum: 0,
          }),
        ),
        students: count('Different students.'),
        first: Type.Optional(refer(ValidationEntry)),
      }),
      'Each code that was found, the most frequent first.',
    ),
    notRun: listOf(NotRun, 'Checks that could not run.'),
    undecided: listOf(
      Type.Object({
        errorCode: text('The code.'),
        file: text('The file of the field.'),
        field: text('The field whose value is unknown.'),
        records: count('Records for which the check did not run.'),
      }),
      'Checks that did not run for some records, because a value that they need is unknown, such as one that cannot be read.',
    ),
  },
  { title: 'ResultsSummary', description: 'What the current run of a submission found, by code.' },
)

const EXAMPLE = {
  submissionToken: 'sample-submission',
  returnId: '202512',
  runId: 1,
  errorCount: 12,
  warningCount: 0,
  totalCount: 12,
  definition: { name: 'sdr', version: '1.0.0' },
  codes: [
    {
      errorCode: 'LEA-07-required',
      errorType: 'Error',
      fileType: 'Learner',
      count: 12,
      share: 0.03,
      students: 12,
      first: { localId: 'L0000001', errorCode: 'LEA-07-required' },
    },
  ],
  notRun: [],
  undecided: [{ errorCode: 'CCO-201', file: 'learner', field: 'dateOfBirth', records: 12 }],
}

export function getSummary(options: ResultsOptions): Operation {
  const { database, sealer } = options
  const answer = answerAboutRuns(database, 'summary', (reader, submission) =>
    summarise(reader, submission, sealer),
  )
  return ofFindings(options)({
    name: 'results-summary',
    id: 'getValidationResultsSummary',
    summary: 'Summarise validation results',
    description: 'What the current run found, by code, with exact totals, and the checks that could not run.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/summary',
    request: { path: TOKEN_PATH },
    responses: {
      200: describePage(ResultsSummary, 'The summary.', EXAMPLE),
      304: NOT_MODIFIED,
    },
  }).handle(({ authorized, isFresh }) => answer(authorized, isFresh))
}

async function summarise(reader: Reader, submission: SubmissionRow, sealer: Sealer): Promise<object> {
  const { token, returnId, totalCount } = submission
  const base = { submissionToken: token, returnId }
  const current = await readFinished(reader, submission.run, sealer)
  if (current === undefined) return { ...base, totalCount }
  const { run, summary } = current
  const records = new Map<string, number>()
  for (const file of summary.files ?? [])
    records.set(file.fileType, (records.get(file.fileType) ?? 0) + file.records)
  return {
    ...base,
    runId: run.number,
    errorCount: run.errors,
    warningCount: run.warnings,
    totalCount,
    partial: isPartial(run) || undefined,
    definition: summary.definition,
    codes: summary.codes.map((code) => {
      const of = records.get(code.fileType ?? '') ?? 0
      return { ...code, share: of > 0 ? Math.round((code.count / of) * 1e6) / 1e6 : undefined }
    }),
    notRun: renderNotRun(summary),
    undecided: summary.undecided?.map(({ code, ...rest }) => ({ errorCode: code, ...rest })),
  }
}
