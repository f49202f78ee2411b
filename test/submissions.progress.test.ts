import { expect, test } from 'vitest'
import { RecordCount } from '../src/submissions/runs/run-job.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { startSubmissions } from './support/submissions.ts'

const FILES = [
  { resource: 'people', format: 'csv', records: 30_000 },
  { resource: 'groups', format: 'ndjson', records: 3 },
] as const

test('the progress of a run counts the records of each file', () => {
  const counted = new RecordCount(FILES)
  const shown = (progress: Parameters<RecordCount['describe']>[0]) => {
    const { done, files = [] } = counted.describe(progress)
    return [done, ...files.map((file) => `${file.file}: ${file.done} of ${file.total}`)]
  }
  expect(shown({ phase: 'read', file: 'people.csv', records: 16_384 })).toEqual([
    16_384,
    'people: 16384 of 30000',
    'groups: 0 of 3',
  ])
  // A file that is left has been read, even if the check counts its records in another way.
  expect(shown({ phase: 'read', file: 'groups.ndjson', records: 1 })).toEqual([
    30_001,
    'people: 30000 of 30000',
    'groups: 1 of 3',
  ])
  expect(shown({ phase: 'read', file: 'groups.ndjson', records: 5 })[2]).toBe('groups: 3 of 3')
  expect(shown({ phase: 'write' })).toEqual([30_003, 'people: 30000 of 30000', 'groups: 3 of 3'])
})

test('the API shows the progress by file', async () => {
  const { service, createCaller } = await startSubmissions(makeSmallDefinition())
  const { ask, create, put } = await createCaller('reader', ['1001'])
  const token = await create()
  await put(token, 'people', 'localId,id\n1,A\n2,B\n')
  await ask('POST', `/submissions/${token}/validation-runs`)
  const progress = new RecordCount([{ ...FILES[0], records: 2 }]).describe({
    phase: 'read',
    file: 'people.csv',
    records: 1,
  })
  await service.database.write('run', (writer) =>
    writer.run(`update submission_run set status = 'InProgress', started = received, progress = $1`, [
      JSON.stringify(progress),
    ]),
  )
  expect((await ask('GET', `/submissions/${token}`)).body.validationRun.progress).toEqual({
    stage: 'Reading the files',
    done: 1,
    total: 2,
    files: [{ file: 'people', done: 1, total: 2 }],
  })
})
