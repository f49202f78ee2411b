import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { SourceRecord } from '../src/engines/records/source-record.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { InputRefused } from '../src/foundation/faults/faults.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { finishDeletions } from '../src/submissions/retention/purge.ts'
import { sample } from './support/properties.ts'
import { takeDatabaseUrl } from './support/reused-schemas.ts'
import { Service, sourceOf } from './support/service.ts'
import { countStored } from './support/stored-findings.ts'

const TOKEN = 'submission-0001'

/** A run whose entries all say which run they are of, and where they stand in it. */
const run = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ localId: String(index), courseCode: name }))

async function read(service: Service, query = '', headers: Record<string, string> = {}) {
  const url = `/v1/submissions/${TOKEN}/validation-results?${query}`
  const response = await service.get(url, { eid: '1001', ...headers })
  return { status: response.statusCode, etag: String(response.headers.etag), body: response.json() }
}

/** What an ETag says of the run: all of it up to the hyphen. */
function runOf(etag: string): string {
  return etag.slice(0, etag.indexOf('-'))
}

/** Fails unless the page is a page of one of the runs, and of no other. */
function assertOfOneRun(
  { page, pageSize, totalCount, results }: Awaited<ReturnType<typeof read>>['body'],
  counts: ReadonlyMap<string, number>,
): string {
  const name = results[0].courseCode as string
  expect(totalCount).toBe(counts.get(name))
  const first = (page - 1) * pageSize
  const rest = run(name, totalCount).slice(first, first + pageSize)
  expect(results).toEqual(rest)
  return name
}

/** Reads pages at random until `publishing` has ended, and fails if any holds anything but a part of one run. */
async function readDuring(
  service: Service,
  publishing: Promise<unknown>,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  let over = false
  void publishing.then(
    () => (over = true),
    () => (over = true),
  )
  const [random] = sample(fc.infiniteStream(fc.integer({ min: 1, max: 12 })), 1)
  const names = new Map<string, string>()
  while (!over && random !== undefined) {
    const query = `page=${random.next().value}&pageSize=${random.next().value}`
    const { status, etag, body } = await read(service, query)
    if (status === 200) {
      const name = assertOfOneRun(body, counts)
      // The ETag names the run: the same one for every page of it, and another for every other.
      expect(names.get(runOf(etag)) ?? name).toBe(name)
      names.set(runOf(etag), name)
    } else {
      expect([status, body.errorCode]).toEqual([400, 'PR2'])
    }
    await new Promise(setImmediate)
  }
  await publishing
  expect(new Set(names.values()).size).toBe(names.size)
}

/** Entries that come one by one, so that readers come in between. */
async function* dawdle(entries: readonly unknown[]): AsyncGenerator<SourceRecord> {
  for await (const entry of sourceOf(entries)) {
    await new Promise(setImmediate)
    yield entry
  }
}

test.each([
  ['64', 'this process'],
  ['0', 'this process'],
  ['64', 'another connection'],
])(
  'readers see one run entirely while runs are published (PAGE_CACHE_MB=%s, by %s)',
  async (PAGE_CACHE_MB, publisher) => {
    const url = await takeDatabaseUrl()
    const service = await Service.start({ PAGE_CACHE_MB }, url)
    const other = publisher === 'this process' ? service.database : await openDatabase(url)
    if (other !== service.database) onTestFinished(() => other.close())
    const counts = new Map(
      Array.from({ length: 12 }, (_, index) => [`run${index}`, 20 + ((index * 13) % 60)]),
    )
    await service.publish(run('first', 20), { token: TOKEN })
    const publishAll = async () => {
      for (const [name, count] of counts) {
        await publishResults(other, dawdle(run(name, count)), {
          eid: '1001',
          returnId: 'R1',
          token: TOKEN,
        })
        expect(assertOfOneRun((await read(service, 'pageSize=100')).body, counts)).toBe(name)
      }
    }
    await readDuring(service, publishAll(), new Map([...counts, ['first', 20]]))
    expect(assertOfOneRun((await read(service, 'pageSize=100')).body, counts)).toBe('run11')
  },
)

test('a publish that comes between the two reads of a request is seen entirely', async () => {
  const service = await Service.start()
  const publish = async (name: string, count: number) => service.publish(run(name, count), { token: TOKEN })
  await publish('old', 30)

  const all = service.database.all.bind(service.database)
  let meanwhile: (() => Promise<unknown>)[] = []
  const interrupted: Database['all'] = async (sql, parameters) => {
    if (sql.includes('result_block')) await meanwhile.shift()?.()
    return all(sql, parameters)
  }
  Object.assign(service.database, { all: interrupted })

  // The run before is kept, so a reader that has found it can read it.
  meanwhile = [() => publish('second', 20)]
  expect((await read(service, 'page=3&pageSize=10')).body).toEqual({
    page: 3,
    pageSize: 10,
    results: run('old', 30).slice(20),
    totalCount: 30,
  })

  // Two later runs leave only its counts.
  const publishTwo = async (name: string, count: number) => {
    await publish('between', 1)
    await publish(name, count)
    await finishDeletions(service.database)
  }
  meanwhile = [() => publishTwo('third', 25)]
  const { status, body } = await read(service, 'page=2&pageSize=10')
  expect([status, meanwhile.length]).toEqual([200, 0])
  expect(body).toEqual({ page: 2, pageSize: 10, results: run('third', 25).slice(10, 20), totalCount: 25 })

  meanwhile = [() => publishTwo('short', 5)]
  expect((await read(service, 'page=3&pageSize=10')).body).toMatchObject({ errorCode: 'PR2' })
})

test('the ETag names the run: it stays while the run does, and goes with it', async () => {
  const service = await Service.start()
  await service.publish(run('a', 4), { token: TOKEN })
  const first = await read(service, 'page=1&pageSize=2')
  const second = await read(service, 'page=2&pageSize=2')
  expect(runOf(first.etag)).toBe(runOf(second.etag))
  expect(first.etag).not.toBe(second.etag)
  expect((await read(service, 'page=1&pageSize=2')).etag).toBe(first.etag)

  // Even the same entries, published again, are another run.
  await service.publish(run('a', 4), { token: TOKEN })
  const again = await read(service, 'page=1&pageSize=2', { 'if-none-match': first.etag })
  expect(again.status).toBe(200)
  expect(runOf(again.etag)).not.toBe(runOf(first.etag))
})

test('a publish that finds a bad entry at its end leaves the old run as it was', async () => {
  const service = await Service.start()
  await service.publish(run('old', 5), { token: TOKEN })
  const before = await read(service)

  const bad = [...run('new', 2000), { localId: 'x', errorType: 'Fatal' }]
  await expect(service.publish(bad, { token: TOKEN })).rejects.toThrow(InputRefused)
  expect(await read(service)).toEqual(before)
  expect(await countStored(service.database)).toBe(5)

  // Later publishes replace the run, whether they are longer, shorter or empty; the run before is kept, and no other.
  const counts = [3, 1, 0, 2]
  for (const [index, count] of counts.entries()) {
    const entries = run(`run${index}`, count)
    await service.publish(entries, { token: TOKEN })
    expect((await read(service)).body).toMatchObject({ results: entries, totalCount: count })
    await finishDeletions(service.database)
    expect(await countStored(service.database)).toBe(count + (counts[index - 1] ?? 5))
  }

  // A first publish that fails leaves no submission.
  await expect(service.publish([{ localId: 5 }], { token: 'never-made' })).rejects.toThrow(InputRefused)
  const url = '/v1/submissions/never-made/validation-results'
  expect((await service.get(url, { eid: '1001' })).statusCode).toBe(401)
})

test('a submission stays with its organisation and its return', async () => {
  const service = await Service.start()
  await service.publish(run('old', 2), { token: TOKEN })
  for (const other of [{ eid: '1002' }, { returnId: 'R2' }]) {
    await expect(service.publish(run('new', 1), { token: TOKEN, ...other })).rejects.toThrow(InputRefused)
  }
  expect((await read(service)).body.results).toEqual(run('old', 2))
})

test('without a token each publish creates a separate submission with an unguessable token', async () => {
  const service = await Service.start()
  const [one, other] = [await service.publish(run('one', 1)), await service.publish(run('other', 1))]
  for (const { submissionToken } of [one, other]) expect(submissionToken).toMatch(/^[A-Za-z0-9_-]{32}$/)
  expect(one.submissionToken).not.toBe(other.submissionToken)
})

test('concurrent publishes of one submission run in sequence: the last one applies completely', async () => {
  const service = await Service.start()
  const counts = new Map([1, 2, 3, 4, 5].map((index) => [`run${index}`, index * 10]))
  const runs = await Promise.all(
    [...counts].map(async ([name, count]) => service.publish(run(name, count), { token: TOKEN })),
  )
  expect(new Set(runs.map(({ runId }) => runId)).size).toBe(5)
  assertOfOneRun((await read(service, 'pageSize=100')).body, counts)
})
