import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../src/foundation/database/database.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { RevisionWatch } from '../src/foundation/database/revision-watch.ts'
import { bumpRevision } from '../src/foundation/database/revisions.ts'
import { takeDatabaseUrl } from './support/reused-schemas.ts'
import { engine } from './support/temporary.ts'

const COLUMNS = ['position', 'phrases']

/** Two processes' views of one database. */
async function openTwice(): Promise<[Database, Database]> {
  const url = await takeDatabaseUrl()
  const open = async () => {
    const database = await openDatabase(url)
    onTestFinished(() => database.close())
    return database
  }
  return [await open(), await open()]
}

const insert = (database: Database, ordinal: number, after: () => unknown = () => undefined) =>
  database.write('run', async (writer) => {
    await writer.run('insert into search_synonym (position, phrases) values ($1, $2)', [ordinal, '{}'])
    await after()
  })

const change = (database: Database) =>
  database.write('catalogue', (writer) => bumpRevision(writer, 'catalogue'))

const count = async (database: Pick<Database, 'get'>) =>
  Number((await database.get<{ count: string }>('select count(*) as count from search_synonym'))?.count)

test('a transaction that fails changes nothing, and the next one works', async () => {
  const [database, other] = await openTwice()
  const fail = () => {
    throw new Error('the work fails')
  }
  await expect(insert(database, 1, fail)).rejects.toThrow('the work fails')
  expect([await count(database), await count(other)]).toEqual([0, 0])
  await insert(database, 1)
  expect([await count(database), await count(other)]).toEqual([1, 1])
})

test('nobody sees a change before it is committed, and a snapshot none that is made after it', async () => {
  const [database, other] = await openTwice()
  await database.snapshot(async (reader) => {
    expect(await count(reader)).toBe(0)
    await insert(other, 1, async () => {
      expect([await count(database), await count(other)]).toEqual([0, 0])
    })
    expect([await count(database), await count(other), await count(reader)]).toEqual([1, 1, 0])
  })
})

test.skipIf(engine !== 'sqlite')(
  'SQLite flushes each commit to the disk before it is acknowledged',
  async () => {
    const [database] = await openTwice()
    const FULL = 2
    const mode = await database.write('run', (writer) => writer.get('pragma synchronous'))
    expect(mode).toEqual({ synchronous: FULL })
  },
)

test('changes with the same lock run one at a time, whichever process makes them', async () => {
  const databases = await openTwice()
  const append = (database: Database) =>
    database.write('run', async (writer) => {
      const ordinal = await count(writer)
      await new Promise((resolve) => setImmediate(resolve))
      await writer.run('insert into search_synonym (position, phrases) values ($1, $2)', [ordinal, '{}'])
    })
  await Promise.all(Array.from({ length: 20 }, (_, index) => append(databases[index % 2] as Database)))
  expect(await count(databases[0])).toBe(20)
})

test('many rows that break in the middle store nothing, and leave the connection fit for the next', async () => {
  const [database] = await openTwice()
  function* rows(breaking?: () => number) {
    for (let ordinal = 0; ordinal < 3000; ordinal++) yield [ordinal, '{}'] as const
    if (breaking !== undefined) yield [breaking(), '{}'] as const
  }
  const load = (given: Iterable<readonly [number, string]>) =>
    database.write('run', (writer) => writer.load('search_synonym', COLUMNS, given))
  await expect(load(rows(() => 17))).rejects.toThrow(/duplicate key|UNIQUE/)
  const end = () => {
    throw new Error('the input ends')
  }
  await expect(load(rows(end))).rejects.toThrow('the input ends')
  expect(await count(database)).toBe(0)
  expect(await load(rows())).toBe(3000)
  expect(await count(database)).toBe(3000)
})

test('a watch notifies of each change by another process, and of nothing else', async () => {
  const [database, other] = await openTwice()
  const watch = await RevisionWatch.start(database)
  onTestFinished(() => watch.stop())
  const notified: string[] = []
  for (const name of ['catalogue', 'keys', 'run'] as const)
    watch.on(name, ({ number }) => notified.push(`${name} ${number}`))
  await watch.refresh()
  expect(notified).toEqual([])
  for (let number = 1; number <= 3; number++) {
    await change(other)
    await watch.refresh()
  }
  expect(notified).toEqual(['catalogue 1', 'catalogue 2', 'catalogue 3'])
})

test('a watch that is asked while it reads reads again', async () => {
  const [database, other] = await openTwice()
  let gate = Promise.resolve()
  const hold = async <T>(reading: Promise<T>): Promise<T> => {
    const result = await reading
    await gate
    return result
  }
  const watch = await RevisionWatch.start({
    ...database,
    follow: () => {
      const follower = database.follow()
      return {
        dialect: follower.dialect,
        all: (sql, parameters) => hold(follower.all(sql, parameters)),
        get: (sql, parameters) => hold(follower.get(sql, parameters)),
        stop: () => follower.stop(),
      }
    },
  })
  onTestFinished(() => watch.stop())
  await watch.refresh()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const earlier = watch.refresh()
  await change(other)
  const later = Promise.all([watch.refresh(), watch.refresh()])
  resolve()
  await Promise.all([earlier, later])
  expect(watch.current.catalogue.number).toBe(1)
})
