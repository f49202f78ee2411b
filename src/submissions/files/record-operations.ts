import { actorOf } from '../../api/access/principal.ts'
import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { TimedTurns } from '../../foundation/timed-turns.ts'
import { REFUSALS } from '../submission/contract.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { BatchResult, RecordBatch, RecordDeletion } from '../submission/schema.ts'
import { applyBatch } from './batch.ts'
import { assertKnown, FILE_PATH, ofFile } from './contract.ts'
import type { Operation as RecordOperation } from './current-file.ts'

/** The largest JSON body of a batch, in bytes. */
const MAX_BATCH_BYTES = 2 * 2 ** 20

export function recordOperations(options: SubmissionOptions): readonly Operation[] {
  return [
    batchOperation(options, {
      name: 'add-records',
      id: 'addSubmissionRecords',
      summary: 'Add or replace records',
      description:
        'Adds a batch of records to a file that is built from batches; an uploaded file is replaced as a whole. A record replaces the earlier one with the same `localId`; within a batch, the last one applies.',
      method: 'POST',
      schema: RecordBatch,
      toOperation: ({ localId = '', ...record }, keep): RecordOperation => ({
        localId,
        record: keep ? { localId, ...record } : record,
      }),
    }),
    batchOperation(options, {
      name: 'delete-records',
      id: 'deleteSubmissionRecords',
      summary: 'Delete records',
      description: 'Deletes the records of a file that have the given `localId`s.',
      method: 'DELETE',
      schema: RecordDeletion,
      toOperation: ({ localId = '' }): RecordOperation => ({ localId }),
    }),
  ]
}

interface BatchDeclaration extends Pick<Operation, 'name' | 'id' | 'summary' | 'description'> {
  readonly method: 'POST' | 'DELETE'
  readonly schema: typeof RecordBatch | typeof RecordDeletion
  /** @param keep whether the records of the file have a field `localId` */
  toOperation(given: { localId?: string } & Record<string, unknown>, keep: boolean): RecordOperation
}

function batchOperation(
  options: SubmissionOptions,
  { schema, toOperation, ...declaration }: BatchDeclaration,
): Operation {
  const { database, sealer, definitions } = options
  const { writing } = ofFile(database)
  return writing({
    ...declaration,
    path: '/submissions/{submissionToken}/records/{fileType}',
    request: { path: FILE_PATH, body: { json: schema, maxBytes: MAX_BATCH_BYTES, personal: true } },
    responses: {
      200: describeDocument(BatchResult, 'The result for each record.', {
        submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
        content: [{ localId: 'L0000001', errors: [] }],
      }),
    },
    problems: {
      'invalid-body':
        'The batch has too many records (errorCode `MP1`), a record lacks its `localId`, or the body has another form (`CV1`).',
      'no-such-file': 'The definition has no such file.',
      ...REFUSALS,
    },
    bodyFaultMembers: { errorCode: 'CV1' },
  }).handle(async ({ authorized, body: { content }, principal }) => {
    assertKnown(definitions, authorized)
    const { submission, resource } = authorized
    const known = definitions.findResource(submission.definition ?? '', resource)
    const keep = known?.fields.some(({ name }) => name === 'localId') ?? true
    const operations: RecordOperation[] = []
    const turns = new TimedTurns()
    for (const each of content) {
      operations.push(toOperation({ ...each }, keep))
      if (turns.isOver) await turns.take()
    }
    const acknowledged = await applyBatch(database, sealer, {
      token: submission.token,
      eid: submission.eid,
      resource,
      operations,
      actor: actorOf(principal),
    })
    return document({ submissionToken: submission.token, content: acknowledged })
  })
}
