import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/foundation/database/database.ts'
import { RevisionWatch } from '../../src/foundation/database/revision-watch.ts'
import { bumpRevision } from '../../src/foundation/database/revisions.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { until } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

/** Connections that listen for changes, of one database. */
const LISTENING = (name: string) =>
  `from pg_stat_activity where datname = '${name}' and application_name = 'mahi-follower'`

describe.skipIf(!hasCluster)('a watch of revisions', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

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
