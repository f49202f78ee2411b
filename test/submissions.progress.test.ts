import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { takeOne } from '../src/foundation/jobs/worker.ts'
import { Definitions } from '../src/submissions/rules/definitions.ts'
import { RecordCount, RunJob } from '../src/submissions/runs/run-job.ts'
import { checkHere } from './support/check-here.ts'
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

test('a run that two workers check is published once, by the one that holds its job', async () => {
  const { service, definition, createCaller } = await startSubmissions(makeSmallDefinition())
  const { database } = service
  const { ask, create, put } = await createCaller('reader', ['1001'])
  const token = await create()
  await put(token, 'people', 'localId,id\n1,A\n2,\n')
  await ask('POST', `/submissions/${token}/validation-runs`)
  const outcomes: string[] = []
  const work = (meanwhile = async (): Promise<unknown> => undefined) => {
    const run = new RunJob({
      database,
      sealer: new Sealer(),
      definitions: new Definitions([definition]),
      limits: {},
      check: async (...given) => {
        await meanwhile()
        return await checkHere(...given)
      },
    })
    return takeOne(
      {
        database,
        handlers: { run },
        onError: (error) => outcomes.push(String(error)),
        onEnd: ({ attempt, outcome }) => outcomes.push(`${attempt}: ${outcome}`),
        onOutage: () => undefined,
      },
      ['run'],
      new AbortController().signal,
    )
  }
  // The first one is late, and its lease ends during its check.
  await work(async () => {
    await database.write('schema', (writer) => writer.run('update job set lease = 1'))
    await work()
  })
  expect(outcomes).toEqual(['2: done', '1: lost'])
  const { body } = await ask('GET', `/submissions/${token}/validation-runs`)
  expect(body.results).toMatchObject([{ runId: 1, status: 'Processed', current: true }])
  const { results } = (await ask('GET', `/submissions/${token}/activity`)).body
  expect(results.filter(({ event }: { event: string }) => event === 'Checked')).toHaveLength(1)
  expect(await database.all('select status, total from run_count')).toEqual([
    { status: 'Processed', total: 1 },
  ])
  expect((await ask('GET', `/submissions/${token}/validation-results`)).body.totalCount).toBe(
    body.results[0].errorCount,
  )
})
