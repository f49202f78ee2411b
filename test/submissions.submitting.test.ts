import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createChangesBudget } from '../src/foundation/budget/budgets.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { submit } from '../src/submissions/explanations/submit.ts'
import { storeFile } from '../src/submissions/files/upload.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Definitions } from '../src/submissions/rules/definitions.ts'
import { cancelRun, requestRun } from '../src/submissions/runs/validation.ts'
import { createSubmission } from '../src/submissions/submission.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { sourceOf } from './support/source.ts'

const EID = '1001'
const actor = { id: 'test', name: 'Test' }
const sealer = new Sealer()
const PEOPLE = 'localId,id,group,age\n1,A1,G1,20\n'

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

async function open(database: Database, returnId = '202512') {
  const definitions = new Definitions([makeSmallDefinition()])
  const life = 86_400_000
  const { submission } = await createSubmission(database, { eid: EID, returnId, definition: 'small', life })
  const { token } = submission
  return {
    token,
    put: (content: string) =>
      storeFile(database, sealer, {
        token,
        eid: EID,
        resource: 'people',
        format: 'csv',
        form: definitions.formOf('small', 'people'),
        gzip: false,
        content: once(content),
        maxBytes: 1000,
      }),
    publish: (...types: string[]) =>
      publishResults(
        database,
        sourceOf(types.map((errorType) => ({ localId: '1', errorCode: errorType, errorType }))),
        { eid: EID, returnId, token },
      ),
    submit: () =>
      submit(
        { database, sealer, definitions, takeMemory: () => createChangesBudget().take('', 0) },
        { token, eid: EID, actor },
      ),
  }
}

test('only a submission whose current run covers its files and found no errors can be submitted', async () => {
  const database = await openTemporary()
  const { token, put, publish, submit } = await open(database)
  const refused = async (reason: RegExp) =>
    await expect(submit()).rejects.toMatchObject({ kind: 'conflict', message: expect.stringMatching(reason) })
  await put(PEOPLE)
  await refused(/has not been validated/)
  await publish('Error', 'Warning')
  await refused(/found 1 error\. Correct it/)
  await publish()
  await put(PEOPLE.replace('20', '21'))
  await refused(/files were changed after the current run/)
  await publish('Warning')
  const { run } = await requestRun(database, { token, eid: EID, maxWaiting: 10 })
  await refused(/run is in progress/)
  await cancelRun(database, { token, eid: EID, number: run.number })
  const { submission, receipt } = await submit()
  expect(submission.status).toBe('Submitted')
  expect(receipt).toMatchObject({
    receipt: 1,
    submissionToken: token,
    errorCount: 0,
    warningCount: 1,
    submittedBy: actor,
    files: [
      {
        file: 'people',
        records: 1,
        sha256: createHash('sha256').update(PEOPLE.replace('20', '21')).digest('hex'),
      },
    ],
  })
})

test('a submitted submission does not change, and submitting it again gives the same receipt', async () => {
  const database = await openTemporary()
  const { token, put, publish, submit } = await open(database)
  await put(PEOPLE)
  await publish()
  const { receipt } = await submit()
  expect((await submit()).receipt).toEqual(receipt)
  await expect(put(PEOPLE.replace('20', '99'))).rejects.toMatchObject({ kind: 'conflict' })
  await expect(requestRun(database, { token, eid: EID, maxWaiting: 10 })).rejects.toMatchObject({
    kind: 'conflict',
  })
  expect(await database.all('select number from submission_receipt')).toHaveLength(1)
  expect(await database.all('select version from file_version')).toHaveLength(1)
})

test('receipts of an organisation and a return are numbered, and name what they replace', async () => {
  const database = await openTemporary()
  const first = await open(database)
  await first.put(PEOPLE)
  await first.publish()
  await first.submit()
  const second = await open(database)
  await second.put(PEOPLE)
  await second.publish()
  expect((await second.submit()).receipt).toMatchObject({
    receipt: 2,
    replaces: { submissionToken: first.token },
  })
  const other = await open(database, '202604')
  await other.put(PEOPLE)
  await other.publish()
  const { receipt } = await other.submit()
  expect(receipt).toMatchObject({ receipt: 1 })
  expect(receipt).not.toHaveProperty('replaces')
})
