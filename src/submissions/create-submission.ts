import { actorOf } from '../api/access/principal.ts'
import { forOrganisation } from '../api/contract/access-rules.ts'
import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument, JSON_BODY_PROBLEMS } from '../api/contract/describe.ts'
import { Problem } from '../api/contract/problems.ts'
import { created, document } from '../api/contract/results.ts'
import { resolveParameters } from '../engines/checking/index.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { locate, SCHEMAS, SUBMISSION_PROBLEMS, TAG } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { assertCollected } from './returns/assert-collected.ts'
import type { Definitions } from './rules/definitions.ts'
import { NewSubmission, Submission } from './schema.ts'
import { createSubmission } from './submission.ts'

export function createNewSubmission({ database, definitions, sealer }: SubmissionOptions): Operation {
  return operation({
    name: 'create-submission',
    id: 'createSubmission',
    summary: 'Create a submission',
    description:
      'Creates a submission for a return, or returns the open submission of the organisation for that return.',
    tag: TAG,
    method: 'POST',
    path: '/submissions',
    access: forOrganisation('submissions:write'),
    limit: 'submissions',
    request: { body: { json: NewSubmission, maxBytes: 4096 } },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument(Submission, 'The open submission for this return.', EXAMPLE_SUBMISSION),
      201: describeDocument(Submission, 'The new submission.', EXAMPLE_SUBMISSION, {
        location: { description: 'The URL of the submission.', type: 'string' },
      }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'invalid-body': 'A member is invalid.',
      ...JSON_BODY_PROBLEMS,
      'unprocessable-content':
        'The definition does not exist, the returnId is not a return of it, or the service does not collect this return from the organisation.',
      conflict: 'The return is not open; the detail has its dates.',
    },
  }).handle(async ({ authorized: eid, body, principal, refuse }) => {
    const { returnId, type } = body
    if (!/^[!-~]{1,64}$/.test(returnId))
      refuse('invalid-body', 'returnId must be at most 64 visible ASCII characters without spaces.')
    const collected = await assertCollected(database, { ...body, eid })
    const definition = chooseDefinition(definitions, returnId, body.definition ?? collected?.definition)
    const { submission, created: isNew } = await createSubmission(database, {
      eid,
      returnId,
      definition,
      actor: actorOf(principal),
      type: type ?? collected?.type ?? 'Full',
    })
    const shown = renderState({ definitions, sealer }, submission)
    return isNew ? created(locate(submission.token), shown) : document(shown)
  })
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
    throw new Problem('unprocessable-content', `returnId is not valid: ${error.message}.`)
  }
  return definition.name
}
