import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

describe.skipIf(!hasCluster)('with a PostgreSQL of its own', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

  /** A filled database, and servers of it. */
  async function startReplicas(name: string, count: number, environment: Record<string, string> = {}) {
    const DATABASE_URL = await cluster.createDatabase(name)
    const filled = await fillDatabase(DATABASE_URL)
    const mahi = new Installation({ inProcesses: true })
    const start = () => mahi.serve({ ...UNLIMITED, LOG_LEVEL: 'info', DATABASE_URL, ...environment })
    return { ...filled, start, replicas: await Promise.all(Array.from({ length: count }, start)) }
  }

  test('a replica is killed under load: its callers turn to another one, and none of them fails', async () => {
    const { replicas, questions } = await startReplicas('killed_replica', 3)
    const load = new Load(
      replicas.map(({ url }) => url),
      questions,
      { check: checkPage },
    )
    await load.untilMore('ok', 300)
    const [first, second] = replicas
    first?.command.kill('SIGKILL')
    expect(await first?.command.ended).toMatchObject({ signal: 'SIGKILL' })
    await load.untilMore('ok', 300)
    second?.command.kill('SIGKILL')
    await load.untilMore('ok', 300)
    const counts = await load.stop()
    expect(counts.otherwise).toEqual([])
    expect(counts.retried).toBeGreaterThan(0)
    // What a dead process held is given back: the last one can change and serve everything.
    await until(async () => {
      const [row] = await cluster.query<{ count: string }>(
        `select count(*) as count from pg_stat_activity where datname = 'killed_replica' and application_name = 'mahi-follower'`,
      )
      return row?.count === '1' ? true : undefined
    })
  })

  test('a request in flight gets its response although its replica is stopping', async () => {
    const { replicas, headers } = await startReplicas('in_flight', 1)
    const [{ url, command }] = replicas as [(typeof replicas)[number]]
    const asked = await cluster.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      const answer = ask(`${url}/v1/occupations?Limit=3`, headers)
      await until(async () => {
        const { rows } = await client.query(
          `select 1 from pg_stat_activity where datname = 'in_flight' and wait_event_type = 'Lock'`,
        )
        return rows.length > 0 ? true : undefined
      })
      command.kill('SIGTERM')
      // It takes no more connections, and waits for the one request.
      await until(() =>
        ask(`${url}/livez`, {}).then(
          () => undefined,
          () => true,
        ),
      )
      expect(command.child.exitCode).toBeNull()
      await client.query('rollback')
      return await answer
    }, 'in_flight')
    expect([asked.status, JSON.parse(asked.body).resultsCount]).toEqual([200, 3])
    expect(await command.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  })

  test('a replica that stops while its database is unreachable still exits with 0', async () => {
    const { start, headers } = await startReplicas('stopped_cut_off', 0)
    const proxy = await PausableProxy.start(cluster.port)
    const mahi = new Installation({ inProcesses: true })
    const { url, command } = await mahi.serve({
      ...UNLIMITED,
      LOG_LEVEL: 'info',
      DATABASE_URL: cluster.url('stopped_cut_off', proxy.port),
    })
    expect((await ask(`${url}/v1/occupations?Limit=3`, headers)).status).toBe(200)
    proxy.pause()
    const asked = ask(`${url}/v1/occupations?Limit=4`, headers)
    // Connections are taken in their order: after this answer the question has arrived too.
    expect((await ask(`${url}/livez`, {})).status).toBe(200)
    command.kill('SIGTERM')
    expect((await asked).status).toBe(503)
    expect(await command.ended).toMatchObject({ code: 0, signal: null })
    // A process that is started meanwhile on a way that works is not in its way.
    expect((await ask(`${(await start()).url}/readyz`, {})).status).toBe(200)
  })
})
