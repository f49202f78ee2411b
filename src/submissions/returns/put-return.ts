import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, JSON_BODY_PROBLEMS } from '../../api/contract/describe.ts'
import { oneOf, strings, text } from '../../api/contract/fields.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { Type } from '../../foundation/schema/type.ts'
import { readEtags } from '../files/file-headers.ts'
import type { SubmissionOptions } from '../options.ts'
import { SUBMISSION_TYPES } from '../submission.ts'
import { checkReturn } from './read-returns.ts'
import { type CollectedReturn, returnEtag, storeReturns } from './returns.ts'
import { EXAMPLE_RETURN, Return, renderForAgency } from './schema.ts'

const date = (what: string) =>
  `${what} A date, a local time such as \`2026-01-31 17:00\` in the time zone of the service, or a date-time with an offset.`

const NewReturn = Type.Object(
  {
    name: Type.String({ description: 'Its name for people.' }),
    definition: Type.String({ description: 'The definition that it is checked against.' }),
    version: text('The version of the definition that the service must have.'),
    type: oneOf(
      SUBMISSION_TYPES,
      'Full (default): all required files must be present. Indicative: some may be missing.',
    ),
    opens: Type.String({ description: date('When it opens.') }),
    due: text(date('When it is due; by default when it closes.')),
    closes: Type.String({ description: date('When it closes.') }),
    organisations: strings('The organisations that are expected to submit it; all by default.'),
    notes: text('Notes for those who submit it.'),
  },
  { description: 'A return to collect.' },
)

export function putReturn({ database, definitions, timeZone, access }: SubmissionOptions): Operation {
  return operation({
    name: 'put-return',
    id: 'putReturn',
    summary: 'Describe a return',
    description:
      'For the collecting agency: adds a return, or replaces the one with this id, after the checks of `mahi returns import`. A return is replaced by another one only with `If-Match`. If anything is wrong, the detail names all mistakes, and nothing is stored. No EID is needed.',
    tag: 'Returns',
    method: 'PUT',
    path: '/returns/{returnId}',
    access: withScope('operate'),
    limit: 'submissions',
    request: {
      path: Type.Object({
        returnId: Type.String({ description: 'The return.', maxLength: 64 }),
      }),
      header: Type.Object({
        'If-Match': text('The `etag` of the return to replace, or `*` for any.', { maxLength: 4000 }),
        'If-None-Match': text('`*`: only add the return.', { maxLength: 4000 }),
      }),
      body: { json: NewReturn, maxBytes: 262_144 },
    },
    schemas: { Return },
    responses: {
      200: describeDocument(Return, 'The return as it is now.', EXAMPLE_RETURN),
    },
    problems: {
      ...COMMON_PROBLEMS,
      unauthorized: 'There is no valid credential, or it lacks the scope operate.',
      'precondition-failed':
        'The return does not have the etag in If-Match, or exists despite If-None-Match.',
      'precondition-required': 'Another return has this id, and there is no If-Match.',
      'invalid-body': 'The return has mistakes; the detail names them.',
      ...JSON_BODY_PROBLEMS,
    },
  }).handle(async ({ path: { returnId }, header, body, principal, refuse }) => {
    const read = tryToRead({ ...body, id: returnId })
    if ('faults' in read) return refuse('invalid-body', read.faults)
    const stored = await storeReturns(database, [read.described], (known, changes) =>
      assertWanted(returnId, { known, changes }, header),
    )
    for (const { change } of stored)
      if (change !== 'unchanged' && principal !== undefined)
        access.audit.changed({
          audit: `return-${change}`,
          return: returnId,
          key: principal.id,
          client: principal.client,
        })
    return document(renderForAgency(read.described))
  })

  function tryToRead(given: object) {
    try {
      return { described: checkReturn(given, { definitions, zone: timeZone }) }
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return { faults: error.faults.map(describeFault).join(' ') }
    }
  }
}

/** @throws {Problem} unless the caller knows what is replaced */
function assertWanted(
  returnId: string,
  { known, changes }: { known: CollectedReturn | undefined; changes: boolean },
  header: { 'If-Match'?: string; 'If-None-Match'?: string },
): void {
  const [wanted, unwanted] = [readEtags(header['If-Match']), readEtags(header['If-None-Match'])]
  const isOne = (etags: readonly string[] = []) =>
    known !== undefined && (etags.includes('*') || etags.includes(returnEtag(known)))
  if (isOne(unwanted))
    throw new Problem('precondition-failed', `Return ${returnId} exists, which If-None-Match rules out.`)
  if (wanted !== undefined && !isOne(wanted))
    throw new Problem(
      'precondition-failed',
      known === undefined
        ? `Return ${returnId}, which If-Match is to replace, does not exist.`
        : `Return ${returnId} has changed: its etag is not in If-Match. Read it again before you replace it.`,
    )
  if (wanted === undefined && known !== undefined && changes)
    throw new Problem(
      'precondition-required',
      `Return ${returnId} exists with other properties. Send its etag as If-Match to replace it.`,
    )
}

/** One sentence; the id is in the path. */
function describeFault({ field, message }: Fault): string {
  return `${field === 'id' ? 'returnId' : field} ${message}.`
}
