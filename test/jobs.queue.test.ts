import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { claim, enqueue, extend, finish, type Job, release } from '../src/foundation/jobs/queue.ts'
import { type JobHandler, Worker } from '../src/foundation/jobs/worker.ts'
import { Outage } from '../src/foundation/outage.ts'
import { until } from './support/command.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'

test('no job waits for more than one job of each other organisation', async () => {
  const database = await openTemporary()
  const property = async (counts: readonly number[]) => {
    await database.write('schema', async (writer) => {
      await writer.run('delete from job')
      for (const [index, count] of counts.entries())
        for (let job = 0; job < count; job++)
          await enqueue(writer, { kind: 'run', subject: `${index}/${job}`, eid: String(index) })
    })
    const order: string[] = []
    for (;;) {
      const job = await claim(database, String(order.length), ['run'])
      if (job === undefined) break
      order.push(job.eid)
      await database.write('job:test', (writer) => finish(writer, job))
    }
    expect(order).toHaveLength(counts.reduce((sum, count) => sum + count, 0))
    for (const [index, count] of counts.entries()) {
      // Between two turns of an organisation each other one has one turn at most.
      const turns = order.flatMap((eid, at) => (eid === String(index) ? [at] : []))
      const gaps = turns.map((at, turn) => at - (turns[turn - 1] ?? -1) - 1)
      expect(count === 0 || Math.max(...gaps) <= counts.length).toBe(true)
    }
  }
  const counts = fc.array(fc.nat(12), { minLength: 1, maxLength: 5 })
  await fc.assert(fc.asyncProperty(counts, property), cases(10))
})

test('a job is held by one worker at a time, and by another once its lease has ended', async () => {
  const database = await openTemporary()
  await database.write('schema', (writer) => enqueue(writer, { kind: 'run', subject: '1', eid: 'a' }))
  const claims = await Promise.all(['w1', 'w2', 'w3'].map((worker) => claim(database, worker, ['run'])))
  const held = claims.filter((job): job is Job => job !== undefined)
  expect(held).toHaveLength(1)
  const [first] = held
  if (first === undefined) throw new Error('nobody has the job')
  await database.write('schema', (writer) => writer.run('update job set lease = 1'))
  const second = await claim(database, 'w4', ['run'])
  expect(second).toMatchObject({ worker: 'w4', attempts: 2 })
  if (second === undefined) throw new Error('nobody has the job')
  await database.write('schema', async (writer) => {
    // What the first one has done meanwhile is not stored.
    expect(await extend(writer, first)).toBe(false)
    expect(await finish(writer, first)).toBe(false)
    await release(writer, second, { countAttempt: false })
  })
  expect(await claim(database, 'w5', ['run'])).toMatchObject({ attempts: 2 })
})

test('a claim that waits for a long transaction does not take the job of a worker that waits, too', async () => {
  const database = await openTemporary()
  const queue = (subject: string) =>
    database.write('schema', (writer) => enqueue(writer, { kind: 'run', subject, eid: 'a' }))
  let now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const write = database.write.bind(database)
  /** Another transaction takes a minute before the next one begins. */
  const delay = () =>
    vi.spyOn(database, 'write').mockImplementationOnce((...transaction) => {
      now += 60_000
      return write(...transaction)
    })
  await queue('1')
  delay()
  const first = (await claim(database, 'w1', ['run'])) as Job
  // The time in which nobody could write is no part of its lease.
  expect(await claim(database, 'w2', ['run'])).toBeUndefined()

  now += 60_000
  delay()
  expect(await claim(database, 'w3', ['run'])).toBeUndefined()
  expect(await database.write('schema', (writer) => extend(writer, first))).toBe(true)
  expect(await claim(database, 'w4', ['run'])).toBeUndefined()
  // A job that nobody has held does not wait, and that of a worker that has ended is taken over.
  await queue('2')
  delay()
  expect(await claim(database, 'w5', ['run'])).toMatchObject({ subject: '2' })
  expect(await claim(database, 'w6', ['run'])).toMatchObject({ subject: '1', attempts: 2 })
  // That of a worker that ended long ago, also where every claim waits.
  now += 600_000
  delay()
  expect(await claim(database, 'w7', ['run'])).toMatchObject({ subject: '1', attempts: 3 })
})

test('a job waits until it is due', async () => {
  const database = await openTemporary()
  const later = { kind: 'run', subject: 'later', eid: 'a', due: Date.now() + 3_600_000 } as const
  await database.write('schema', async (writer) => {
    await enqueue(writer, later)
    await enqueue(writer, { kind: 'run', subject: 'now', eid: 'a' })
  })
  expect(await claim(database, 'w1', ['run'])).toMatchObject({ subject: 'now' })
  expect(await claim(database, 'w2', ['run'])).toBeUndefined()
  await database.write('schema', (writer) => writer.run('update job set due = 1'))
  expect(await claim(database, 'w3', ['run'])).toMatchObject({ subject: 'later' })
})

test('a worker without its queue says so each time, and goes on when it is back', async () => {
  const database = await openTemporary()
  const [failures, done]: [unknown[], string[]] = [[], []]
  await database.write('schema', (writer) => enqueue(writer, { kind: 'run', subject: 'one', eid: 'a' }))
  await database.write('schema', (writer) => writer.run('alter table job rename to hidden'))
  const run: JobHandler = { run: async ({ subject }) => void done.push(subject), fail: async () => undefined }
  const onOutage = (error: unknown) => failures.push(error)
  const worker = new Worker({ database, handlers: { run }, runs: 2, onError: () => undefined, onOutage })
  try {
    await until(() => failures.length > 6)
    await database.write('schema', (writer) => writer.run('alter table hidden rename to job'))
    await until(() => done.length > 0)
    expect(done).toEqual(['one'])
  } finally {
    await worker.stop()
  }
})

test('an outage is said once, and its end after a minute without a failure', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const said: unknown[] = []
  const outage = new Outage(
    (error) => said.push(error),
    (failures) => said.push(failures),
  )
  for (const error of ['full', 'full', 'locked']) {
    outage.failed(error)
    vi.advanceTimersByTime(59_999)
  }
  expect(said).toEqual(['full'])
  vi.advanceTimersByTime(1)
  expect(said).toEqual(['full', 3])
  outage.failed('away')
  expect(said).toEqual(['full', 3, 'away'])
})
