import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/foundation/database/database.ts'
import { RevisionWatch } from '../../src/foundation/database/revision-watch.ts'
import { bumpRevision } from '../../src/foundation/database/revisions.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

/** Connections that listen for changes, of one database. */
const LISTENING = (name: string) =>
  `from pg_stat_activity where datname = '${name}' and application_name = 'mahi-follower'`

describe.skipIf(!hasCluster)('with a PostgreSQL of its own', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

  /** Three replicas of one filled database. */
  async function startReplicas(name: string) {
    const DATABASE_URL = await cluster.createDatabase(name)
    const filled = await fillDatabase(DATABASE_URL)
    const mahi = new Installation()
    const replicas = await Promise.all(
      [1, 2, 3].map(() => mahi.serve({ ...UNLIMITED, LOG_LEVEL: 'info', DATABASE_URL })),
    )
    const run = async (parameters: readonly string[], records: readonly unknown[] = []) => {
      await mahi.runJson(parameters, { input: toLines(records), environment: { DATABASE_URL } })
    }
    /** Asks every replica, and answers how long it took from now on until all saw it, in milliseconds. */
    const untilAllSee = async (path: string, sees: (status: number, body: string) => boolean) => {
      const begun = performance.now()
      const times = replicas.map(async ({ url }) => {
        await until(async () => {
          const { status, body } = await ask(url + path, filled.headers)
          return sees(status, body) ? true : undefined
        })
        return performance.now() - begun
      })
      return Math.round(Math.max(...(await Promise.all(times))))
    }
    return { ...filled, run, untilAllSee, url: DATABASE_URL }
  }

  test('every replica shows an import and a publish and refuses a revoked key, also when no notification arrives', async () => {
    const { run, untilAllSee, token, keyId } = await startReplicas('seen')
    const results = `/v1/submissions/${token}/validation-results`
    const times: number[] = []
    for (const round of ['with', 'without']) {
      // Every page is kept in memory before it changes.
      expect(await untilAllSee('/v1/occupations', (status) => status === 200)).toBeGreaterThan(0)
      expect(await untilAllSee(results, (status) => status === 200)).toBeGreaterThan(0)

      await withoutListeners(round === 'without', 'seen', () =>
        run(['occupations', 'import', '-'], [{ occupationCode: `A-${round}` }]),
      )
      times.push(await untilAllSee('/v1/occupations', (_, body) => body.includes(`"A-${round}"`)))
      await withoutListeners(round === 'without', 'seen', () =>
        run(
          ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', token, '-'],
          [{ localId: `run ${round}` }],
        ),
      )
      times.push(await untilAllSee(results, (_, body) => body.includes(`"run ${round}"`)))
    }
    await run(['keys', 'revoke', keyId])
    times.push(await untilAllSee('/v1/occupations', (status) => status === 401))
    process.stdout.write(
      `three replicas see an import and a publish after ${times.slice(0, 2).join(' and ')} ms, without notifications after ${times.slice(2, 4).join(' and ')} ms, a revoked key after ${times[4]} ms\n`,
    )
  })

  /** Takes away, before and after, every connection on which a replica would hear of what is done. */
  async function withoutListeners(away: boolean, name: string, work: () => Promise<void>): Promise<void> {
    const cut = () => cluster.query(`select pg_terminate_backend(pid) ${LISTENING(name)}`)
    if (away) await cut()
    await work()
    if (away) await cut()
  }

  describe('a watch', () => {
    /** A watch, and how to change what it watches. */
    async function watching(name: string, work: (watch: RevisionWatch, database: Database) => Promise<void>) {
      await withDatabase(await cluster.createDatabase(name), async (database) => {
        const watch = await RevisionWatch.start(database)
        try {
          await work(watch, database)
        } finally {
          await watch.stop()
        }
      })
    }
    const change = (database: Database) =>
      database.write('catalogue', (writer) => bumpRevision(writer, 'catalogue'))

    test('notifies its listeners of each change, and of nothing else', async () => {
      await watching('watched', async (watch, database) => {
        const told: string[] = []
        for (const name of ['catalogue', 'keys', 'run'] as const) {
          watch.on(name, ({ number }) => told.push(`${name} ${number}`))
        }
        await watch.refresh()
        expect(told).toEqual([])
        for (let count = 1; count <= 3; count++) {
          await change(database)
          await watch.refresh()
          expect(told).toHaveLength(count)
        }
        expect(told).toEqual(['catalogue 1', 'catalogue 2', 'catalogue 3'])
      })
    })

    test('reads again on request, even during a read', async () => {
      await watching('in_the_middle', async (watch, database) => {
        for (let count = 1; count <= 20; count++) {
          const earlier = watch.refresh()
          await change(database)
          const later = Promise.all([watch.refresh(), watch.refresh()])
          await later
          expect(watch.current.catalogue.number).toBe(count)
          await earlier
        }
      })
    })

    test('opens no connection after it is stopped, not even for a pending read', async () => {
      await withDatabase(await cluster.createDatabase('stopped'), async (database) => {
        const watch = await RevisionWatch.start(database)
        // The second one begins when the first has ended, which is after the stop.
        const readings = [watch.refresh(), watch.refresh()]
        await watch.stop()
        await Promise.allSettled(readings)
        // Over the pool, which the database closes.
        await watch.refresh()
        await until(async () => {
          const rows = await cluster.query(`select pid ${LISTENING('stopped')}`)
          return rows.length === 0 ? true : undefined
        })
      })
    })

    test('listens again on a new connection when its own is lost, however often', async () => {
      await watching('lost', async (watch, database) => {
        for (let count = 1; count <= 3; count++) {
          const listening = await until(async () => {
            const rows = await cluster.query<{ pid: number }>(`select pid ${LISTENING('lost')}`)
            return rows.length > 0 ? rows : undefined
          })
          expect(listening).toHaveLength(1)
          await cluster.query(`select pg_terminate_backend(pid) ${LISTENING('lost')}`)
          await change(database)
          await until(() => (watch.current.catalogue.number === count ? true : undefined))
        }
      })
    })

    test('says that it sees nothing while the database is away, and sees again when it is back', async () => {
      await cluster.createDatabase('blind')
      const proxy = await PausableProxy.start(cluster.port)
      await withDatabase(cluster.url('blind', proxy.port), async (database) => {
        const watch = await RevisionWatch.start(database)
        let blind = 0
        watch.onStale(() => blind++)
        try {
          proxy.pause()
          await until(() => (blind > 0 ? true : undefined))
          await withDatabase(cluster.url('blind'), change)
          proxy.resume()
          await until(() => (watch.current.catalogue.number === 1 ? true : undefined))
        } finally {
          await watch.stop()
        }
      })
    })
  })
})
