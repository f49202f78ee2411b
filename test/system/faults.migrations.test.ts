import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { ask, Installation } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'

const REPLICAS = 10

/** Starts ten servers at once on a database that does not exist yet, and checks that each of them serves. */
async function startTen(mahi: Installation, DATABASE_URL: string): Promise<void> {
  const started = await Promise.all(
    Array.from({ length: REPLICAS }, () =>
      mahi.serve({ DATABASE_URL, DATABASE_POOL_SIZE: '2', OCCUPATIONS_ACCESS: 'public', LOG_LEVEL: 'info' }),
    ),
  )
  for (const { url } of started) {
    expect((await ask(`${url}/readyz`)).status).toBe(200)
    expect(await (await ask(`${url}/v1/occupations`)).json()).toMatchObject({ totalCount: 0 })
  }
  // Each step was taken once: a second time it would have failed, or be listed again.
  await withDatabase(DATABASE_URL, async (database) => {
    const applied = await database.all<{ name: string }>('select name from migration order by name')
    expect(applied[0]).toEqual({ name: '0001-initial' })
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length)
    expect(await database.all('select name, number from revision order by name')).toEqual(
      ['catalogue', 'keys', 'run', 'search'].map((name) => ({ name, number: 0 })),
    )
  })
  const ends = await Promise.all(
    started.map(({ command }) => {
      command.kill('SIGTERM')
      return command.ended
    }),
  )
  for (const { code, stderr } of ends) expect([code, stderr]).toEqual([0, ''])
}

test('ten replicas that start at once on one new SQLite file all serve', async () => {
  const mahi = new Installation()
  await startTen(mahi, `sqlite:${mahi.folder}/new/mahi.db`)
})

describe.skipIf(!hasCluster)('with a PostgreSQL of its own', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

  test('ten replicas that start at once on one empty PostgreSQL database all serve', async () => {
    await startTen(new Installation(), await cluster.createDatabase('migrated'))
  })
})
