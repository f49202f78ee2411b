import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, listOf, pageNumbers, text } from '../../api/contract/fields.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { type Paged, pageFields, sendPage } from '../submission/paging.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { answerFromCurrent, findingsPath, ofFindings, type ResultsOptions } from './own.ts'
import { decodeLearners, LEARNER_FIELD, LEARNERS } from './postings.ts'
import { readDetails } from './read-findings.ts'

const LearnersPage = Type.Object(
  pageFields(
    listOf(
      Type.Object({
        studentId: text('The student.'),
        findings: count('Stored findings about the student.'),
      }),
      'Students, those with most findings first.',
    ),
    'Different students among the stored findings.',
  ),
  { title: 'LearnersPage', description: 'A page of the students with findings.' },
)

const EXAMPLE = {
  page: 1,
  pageSize: 100,
  results: [{ studentId: 'S0000017', findings: 12 }],
  totalCount: 96,
}

export function listLearners(options: ResultsOptions): Operation {
  const { database, sealer, limits } = options
  return ofFindings(options)({
    name: 'list-learners',
    id: 'listLearners',
    summary: 'List the learners with findings',
    description:
      'The students of the current run with their numbers of stored findings, those with most first. `Filter.StudentId` of the findings shows those of one.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/learners',
    request: {
      path: TOKEN_PATH,
      query: Type.Object(pageNumbers('Students', limits)),
    },
    responses: {
      200: describeDocument(LearnersPage, 'The students.', EXAMPLE, NEXT_LINK),
    },
    problems: { 'no-such-run': 'The run is not kept any more.' },
  }).handle(
    async ({ authorized, query }) =>
      await answerFromCurrent(database, authorized, async (reader, submission) => {
        const learners = await readLearners(reader, submission, query, sealer)
        return sendPage(`${findingsPath(submission.token)}/learners`, query, learners)
      }),
  )
}

/** They were put in order when the run was published. */
async function readLearners(reader: Reader, submission: SubmissionRow, query: Paged, sealer: Sealer) {
  const { run } = submission
  const { page, pageSize } = query
  const counted = await reader.get<{ total: number | null }>(
    'select cast(sum(total) as bigint) as total from result_posting where run = $1 and field = $2',
    [run, LEARNER_FIELD],
  )
  const totalCount = counted?.total ?? 0
  const first = (page - 1) * pageSize
  const rows = await reader.all<{ ordinals: Uint8Array }>(
    `select ordinals from result_posting
     where run = $1 and field = $2 and bucket = 0 and block between $3 and $4 order by block`,
    [run, LEARNER_FIELD, Math.floor(first / LEARNERS), Math.floor((first + pageSize - 1) / LEARNERS)],
  )
  const skipped = first % LEARNERS
  const learners = rows.flatMap(({ ordinals }) => decodeLearners(ordinals)).slice(skipped, skipped + pageSize)
  const wanted = learners.map((learner) => learner.first).sort((one, other) => one - other)
  const details = await readDetails(reader, submission, wanted, sealer)
  const studentOf = new Map(wanted.map((ordinal, index) => [ordinal, details[index]?.studentId]))
  const results = learners.map(({ first, findings }) => ({ studentId: studentOf.get(first) ?? '', findings }))
  return { results, totalCount }
}
