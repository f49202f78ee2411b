import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { hasCaddy, runCaddy, startCaddy } from '../support/caddy.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, until } from '../support/command.ts'
import { ROOT, readRepositoryFile } from '../support/deploy.ts'
import { UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { sourceOf } from '../support/service.ts'

const CADDYFILE = `${ROOT}deploy/Caddyfile.organisations`

describe.skipIf(!hasCaddy || !hasCluster)(
  'two servers of PostgreSQL, each the home of some organisations',
  () => {
    let clusters: readonly Cluster[] = []
    beforeAll(async () => {
      clusters = await Promise.all([Cluster.start(), Cluster.start()])
    })
    afterAll(async () => {
      for (const cluster of clusters) await cluster.remove()
    })

    /** The home of one organisation: a database with one submission, and a server of it. */
    async function startHome(cluster: Cluster, eid: string) {
      const DATABASE_URL = await cluster.createDatabase('home')
      const mahi = new Installation({ inProcesses: true })
      const { url } = await mahi.serve({ ...UNLIMITED, LOG_LEVEL: 'info', DATABASE_URL, PAGE_CACHE_MB: '0' })
      return await withDatabase(DATABASE_URL, async (database) => {
        const entries = sourceOf([{ localId: `of ${eid}` }])
        const { submissionToken } = await publishResults(database, entries, { eid, returnId: 'R1' })
        const expires = Date.now() + 86_400_000
        const { key } = await createKey(database, { client: 'vendor', eids: [eid], expires })
        const path = `/v1/submissions/${submissionToken}/validation-results`
        return { host: new URL(url).host, path, headers: { EID: eid, 'X-API-Key': key } }
      })
    }

    test('the proxy accepts its file', () => {
      expect(runCaddy(['validate', '--config', CADDYFILE, '--adapter', 'caddyfile']).status).toBe(0)
      expect(runCaddy(['fmt', CADDYFILE]).stdout).toBe(readRepositoryFile('deploy/Caddyfile.organisations'))
    })

    test("each organisation reads from its own server, even while the others' is down", async () => {
      const [one, two] = clusters
      if (one === undefined || two === undefined) throw new Error('two servers are needed')
      const first = await startHome(one, '1001')
      const second = await startHome(two, '2001')
      const proxy = await startCaddy([], CADDYFILE, {
        FIRST_REPLICAS: first.host,
        SECOND_REPLICAS: second.host,
      })
      for (const { path, headers } of [first, second]) {
        const { status, body } = await ask(proxy + path, headers)
        expect([status, JSON.parse(body).results]).toEqual([200, [{ localId: `of ${headers.EID}` }]])
      }
      // A key of one home says nothing at the other.
      expect((await ask(proxy + second.path, { ...first.headers, EID: '2001' })).status).toBe(401)

      await one.kill()
      await until(async () => (await ask(proxy + first.path, first.headers)).status === 503)
      expect((await ask(proxy + second.path, second.headers)).status).toBe(200)
    })
  },
)
