import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, pageNumbers, text } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../contract.ts'
import { Selection } from './filters.ts'
import { assertPage, findingsPath, linkNextPage, type Paged } from './next-page.ts'
import { answerFromCurrent, FINDINGS_PROBLEMS, forFindings, type ResultsOptions } from './own.ts'
import { BLOCK, decodeOffsets } from './postings.ts'
import type { Submission } from './queries.ts'
import { readDetails } from './read-findings.ts'

const LearnersPage = Type.Object(
  {
    page: count('Page number of this page, from 1.'),
    pageSize: count('Page size of this page.'),
    results: Type.Optional(
      Type.Array(
        Type.Object({
          studentId: text('The student.'),
          findings: count('Stored findings about the student.'),
        }),
        { description: 'Students, those with most findings first.' },
      ),
    ),
    totalCount: count('Different students among the stored findings.'),
  },
  { description: 'A page of the students with findings.' },
)

const EXAMPLE = {
  page: 1,
  pageSize: 100,
  results: [{ studentId: 'S0000017', findings: 12 }],
  totalCount: 96,
}

export function listLearners({ database, sealer, limits }: ResultsOptions): Operation {
  return operation({
    name: 'list-learners',
    id: 'listLearners',
    summary: 'List the learners with findings',
    description:
      'The students of the current run with their numbers of stored findings, those with most first. `Filter.StudentId` of the findings shows those of one.',
    tag: 'Validation results',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results/learners',
    access: forFindings(database),
    limit: 'validation-results',
    request: {
      path: TOKEN_PATH,
      query: Type.Object(pageNumbers('Students', limits)),
    },
    schemas: { LearnersPage },
    responses: {
      200: describeDocument(LearnersPage, 'The students.', EXAMPLE, NEXT_LINK),
    },
    problems: { ...FINDINGS_PROBLEMS, 'not-found': 'The run is not kept any more.' },
  }).handle(
    async ({ authorized, query }) =>
      await answerFromCurrent(database, authorized, async (reader, submission) => {
        const { results, totalCount } = await readLearners(reader, submission, query, sealer)
        const path = `${findingsPath(submission.token)}/learners`
        return document({ ...query, results, totalCount }, linkNextPage(path, query, totalCount))
      }),
  )
}

async function readLearners(reader: Reader, submission: Submission, query: Paged, sealer: Sealer) {
  const { run } = submission
  const { page, pageSize } = query
  const total = await reader.get<{ total: number }>(
    `select count(distinct value) as total from result_posting where run = $1 and field = 'studentId'`,
    [run],
  )
  const totalCount = total?.total ?? 0
  assertPage(query, totalCount)
  const rows = await reader.all<{ findings: number; block: number; ordinals: Uint8Array }>(
    `select w.findings, p.block, p.ordinals
     from (select value, cast(sum(total) as bigint) as findings, min(block) as block
           from result_posting where run = $1 and field = 'studentId'
           group by value order by 2 desc, value limit $2 offset $3) w
       join result_posting p on p.run = $1 and p.field = 'studentId' and p.value = w.value and p.block = w.block
     order by w.findings desc, w.value`,
    [run, pageSize, (page - 1) * pageSize],
  )
  // A posting may have only the hash of a student: the first finding of each has the identifier.
  const firsts = rows.map(({ block, ordinals }) => firstOf(block, ordinals))
  const wanted = firsts.toSorted((one, other) => one - other)
  const details = await readDetails(reader, submission, wanted, sealer)
  const studentOf = new Map(wanted.map((ordinal, index) => [ordinal, details[index]?.studentId]))
  const results = rows.map(({ findings }, index) => ({
    studentId: studentOf.get(firsts[index] ?? -1) ?? '',
    findings: Number(findings),
  }))
  return { results, totalCount }
}

function firstOf(block: number, ordinals: Uint8Array): number {
  const [first] = new Selection(new Map([[block, decodeOffsets(ordinals)]])).slice(0, 1)
  return first ?? block * BLOCK
}
