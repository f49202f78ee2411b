import { expect, test } from 'vitest'
import { RecordCount } from '../src/submissions/runs/run-job.ts'
import { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'

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
  const service = await Service.start({ DEFINITIONS: makeSmallDefinition() })
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { key } = await service.createKey({ scopes, eids: ['1001'] })
  const headers = { 'x-api-key': key, eid: '1001' }
  const url = '/v1/submissions'
  const created = await service.request({ method: 'POST', url, headers, payload: { returnId: '202512' } })
  const at = `${url}/${created.json().submissionToken}`
  const csv = { ...headers, 'content-type': 'text/csv' }
  await service.request({
    method: 'PUT',
    url: `${at}/files/people`,
    headers: csv,
    payload: 'localId,id\n1,A\n2,B\n',
  })
  await service.request({ method: 'POST', url: `${at}/validation-runs`, headers })
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
  expect((await service.get(at, headers)).json().validationRun.progress).toEqual({
    stage: 'Reading the files',
    done: 1,
    total: 2,
    files: [{ file: 'people', done: 1, total: 2 }],
  })
})
