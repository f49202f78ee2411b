import { actorOf } from '../api/access/principal.ts'
import { forOrganisation } from '../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../api/contract/describe.ts'
import { refer } from '../api/contract/fields.ts'
import { created, document } from '../api/contract/results.ts'
import { describeFaults, Problem, type ValueFault } from '../api/request/problems.ts'
import { resolveParameters } from '../engines/checking/index.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { Type } from '../foundation/schema/type.ts'
import { explanationOperations } from './explanations/operations.ts'
import { receiptOperations } from './explanations/receipt-operations.ts'
import { EXAMPLE_RECEIPT, Receipt } from './explanations/receipt-schema.ts'
import { submit } from './explanations/submit.ts'
import { listSubmissionActivity } from './list-activity.ts'
import { cancelSubmission } from './retention/ending.ts'
import { assertCollected } from './returns/assert-collected.ts'
import { returnOperations } from './returns/operations.ts'
import type { Definitions } from './rules/definitions.ts'
import { ofSubmission, REFUSALS, TAG, TOKEN_PATH } from './submission/contract.ts'
import { EXAMPLE_SUBMISSION } from './submission/example.ts'
import type { SubmissionOptions } from './submission/options.ts'
import { PAGE_PAST_END, PAGE_QUERY, sendPage } from './submission/paging.ts'
import { renderState } from './submission/render.ts'
import { NewSubmission, Submission, SubmissionPage } from './submission/schema.ts'
import {
  createSubmission,
  listSubmissions,
  RETURN_ID,
  readState,
  type SubmissionState,
} from './submission/submission.ts'

/** A submission that was just submitted, with its receipt. */
const SubmittedSubmission = Type.Object(
  {
    ...Submission.properties,
    receipt: Type.Optional(refer(Receipt)),
  },
  { title: 'SubmittedSubmission', description: 'A submitted submission and its receipt.' },
)

export function submissionOperations(options: SubmissionOptions): readonly Operation[] {
  return [
    ...ownOperations(options),
    listSubmissionActivity(options),
    ...explanationOperations(options),
    ...receiptOperations(options),
    ...returnOperations(options),
  ]
}

function ownOperations({
  database,
  definitions,
  sealer,
  recordErasure,
}: SubmissionOptions): readonly Operation[] {
  const common = { tag: TAG, limit: 'submissions' } as const
  const creating = operationsOf({ ...common, access: forOrganisation('submissions:write') })
  const listing = operationsOf({ ...common, access: forOrganisation('validation-results:read') })
  const { reading, writing } = ofSubmission(database)
  const render = (state: SubmissionState) => renderState({ definitions, sealer }, state)
  return [
    creating({
      name: 'create-submission',
      id: 'createSubmission',
      summary: 'Create a submission',
      description:
        'Creates a submission for a return, or returns the open submission of the organisation for that return.',
      method: 'POST',
      path: '/submissions',
      request: { body: { json: NewSubmission, maxBytes: 4096, check: findReturnIdFault } },
      responses: {
        200: describeDocument(Submission, 'The open submission for this return.', EXAMPLE_SUBMISSION),
        201: describeDocument(Submission, 'The new submission.', EXAMPLE_SUBMISSION, {
          location: { description: 'The URL of the submission.', type: 'string' },
        }),
      },
      problems: {
        'invalid-body': 'A member is invalid.',
        'unprocessable-content':
          'The definition does not exist, the returnId is not a return of it, or the service does not collect this return from the organisation.',
        conflict: 'The return is not open; the detail has its dates.',
      },
    }).handle(async ({ authorized: eid, body, principal }) => {
      const { returnId, type } = body
      const collected = await assertCollected(database, { ...body, eid })
      const definition = chooseDefinition(definitions, returnId, body.definition ?? collected?.definition)
      const { submission, created: isNew } = await createSubmission(database, {
        eid,
        returnId,
        definition,
        actor: actorOf(principal),
        type: type ?? collected?.type ?? 'Full',
      })
      const shown = render(submission)
      return isNew ? created(`/v1/submissions/${submission.token}`, shown) : document(shown)
    }),
    listing({
      name: 'list-submissions',
      id: 'listSubmissions',
      summary: 'List submissions',
      description: 'The submissions of the organisation, newest first.',
      method: 'GET',
      path: '/submissions',
      request: { query: PAGE_QUERY },
      responses: {
        200: describeDocument(
          SubmissionPage,
          'A page of submissions.',
          { page: 1, pageSize: 20, results: [EXAMPLE_SUBMISSION], totalCount: 1 },
          NEXT_LINK,
        ),
      },
      badRequest: PAGE_PAST_END,
    }).handle(async ({ authorized: eid, query }) => {
      const { submissions, totalCount } = await listSubmissions(database, eid, query)
      return sendPage('/submissions', query, { results: submissions.map(render), totalCount })
    }),
    reading({
      name: 'get-submission',
      id: 'getSubmission',
      summary: 'Get a submission',
      description: 'The state of a submission, its files, and its last validation run.',
      method: 'GET',
      path: '/submissions/{submissionToken}',
      request: { path: TOKEN_PATH },
      responses: {
        200: describeDocument(Submission, 'The submission.', EXAMPLE_SUBMISSION),
      },
    }).handle(async ({ authorized }) => {
      const state = await readState(database, authorized)
      return document(render(state))
    }),
    writing({
      name: 'submit-submission',
      id: 'submitSubmission',
      summary: 'Submit a submission',
      description:
        'Freezes a submission, and returns its receipt. The current run must cover the current files, have made every check whose findings must be fixed or explained, and have found no errors. A check whose file or column is absent is not needed if the definition permits that. Warnings are allowed; those that the definition wants explained must have an explanation.',
      method: 'POST',
      path: '/submissions/{submissionToken}/submit',
      request: { path: TOKEN_PATH },
      responses: {
        200: describeDocument(SubmittedSubmission, 'The frozen submission.', {
          ...EXAMPLE_SUBMISSION,
          submissionStatus: 'Submitted',
          receipt: EXAMPLE_RECEIPT,
        }),
      },
      problems: {
        conflict:
          'The current run does not cover the current files, or found errors, or a check was stopped, or a warning needs an explanation.',
        gone: REFUSALS.gone,
      },
    }).handle(async ({ authorized, principal }) => {
      const actor = actorOf(principal)
      const { token, eid } = authorized
      const { submission, receipt } = await submit({ database, sealer, definitions }, { token, eid, actor })
      return document({ ...render(submission), receipt })
    }),
    writing({
      name: 'delete-submission',
      id: 'deleteSubmission',
      summary: 'Delete a submission',
      description:
        'Cancels a submission and deletes all its records and findings. They are unreadable at once, and a job removes them from the database. The token remains known as Cancelled.',
      method: 'DELETE',
      path: '/submissions/{submissionToken}',
      request: { path: TOKEN_PATH },
      responses: {
        200: describeDocument(Submission, 'The cancelled submission.', EXAMPLE_SUBMISSION),
      },
    }).handle(async ({ authorized, principal }) => {
      const actor = actorOf(principal)
      const submission = await cancelSubmission(database, { ...authorized, actor }, recordErasure)
      return document(render(submission))
    }),
  ]
}

function findReturnIdFault({ returnId }: { returnId?: string }): ValueFault[] {
  if (returnId === undefined || RETURN_ID.pattern.test(returnId)) return []
  return [{ name: 'returnId', message: `must be ${RETURN_ID.rule}` }]
}

/** @throws {Problem} if the definition does not exist, or its return ids have another form */
function chooseDefinition(definitions: Definitions, returnId: string, given = definitions.first): string {
  const definition = definitions.find(given)
  if (definition === undefined) {
    const known = definitions.names.join(', ')
    throw new Problem(
      'unprocessable-content',
      `The definition does not exist. Available definitions: ${known}.`,
    )
  }
  try {
    resolveParameters(definition, { returnId })
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new Problem(
      'unprocessable-content',
      ...describeFaults([{ name: 'returnId', message: `is not valid: ${error.message}` }]),
    )
  }
  return definition.name
}
