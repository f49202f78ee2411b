import { Type } from '../../foundation/schema/type.ts'
import { strings, text, time } from './fields.ts'

const PROBLEM_MEMBERS = {
  type: text('The kind of problem: a relative reference to a page that explains it.'),
  title: text('A short summary of the kind of problem.'),
  status: Type.Optional(Type.Integer({ description: 'The HTTP status, repeated.', format: 'int32' })),
  detail: text('What is wrong with this request, and what is allowed.'),
  instance: text('`urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.'),
}

const ERRORS = {
  errors: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'For each invalid value, by its name, what is wrong with it.',
    }),
  ),
}

/** Section 2.10 of the interface. */
const ProblemBody = Type.Object(PROBLEM_MEMBERS, {
  title: 'Problem',
  description: 'An error (RFC 9457).',
})

/** The 400 and the 422 of an operation that the interface does not specify. */
const ValueProblemBody = Type.Object(
  { ...PROBLEM_MEMBERS, ...ERRORS },
  { title: 'ValueProblem', description: 'An error of the parameters or of the body.' },
)

/** An error of an operation on a submission. */
const SubmissionProblemBody = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    ...ERRORS,
    errorCode: text('A code of the public documentation, where one fits: such as `DS1`.'),
  },
  {
    title: 'SubmissionProblem',
    description: 'An error of an operation on a submission, with a code where one fits.',
  },
)

/** Section 2.10 of the interface, with the additional fields of the 400 of validation results. */
const ResultsProblemBody = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    ...ERRORS,
    returnId: text('The return that the submission belongs to.'),
    submissionToken: text('The token of the submission.'),
    content: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'The parameters as received.' }),
    ),
    errorCode: text('`PR1`: a parameter is invalid. `PR2`: the page is past the last one.'),
  },
  { title: 'ResultsProblem', description: 'An error in the pagination parameters.' },
)

/** The 404 for an unknown code, with similar codes. */
const SimilarCodesProblemBody = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    similarCodes: strings('Codes that resemble the given one.'),
  },
  { title: 'SimilarCodesProblem', description: 'A code that does not exist, and codes that resemble it.' },
)

/** The 410 of an occupation. */
const RemovedOccupationProblemBody = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    removedDate: time('When the occupation was removed.'),
    replacedBy: strings('The codes that succeed it.'),
  },
  { title: 'RemovedOccupationProblem', description: 'An occupation that was removed, and its successors.' },
)

/** The bodies of errors. */
export const PROBLEM_BODIES = [
  ProblemBody,
  ValueProblemBody,
  SubmissionProblemBody,
  ResultsProblemBody,
  SimilarCodesProblemBody,
  RemovedOccupationProblemBody,
]
