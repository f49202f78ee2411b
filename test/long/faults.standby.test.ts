import { expect, onTestFinished, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'

test.skipIf(!hasCluster)(
  'reads use a standby, never an older state than a caller knows, and the primary without it',
  async () => {
    const primary = await Cluster.start()
    onTestFinished(() => primary.remove())
    const standby = await primary.startStandby()
    onTestFinished(() => standby.remove())
    const environment = { DATABASE_URL: await primary.createDatabase('mahi') }
    const { headers, questions } = await fillDatabase(environment.DATABASE_URL)
    await standby.catchUp(primary)
    const mahi = new Installation({ inProcesses: true })
    const settings = { ...UNLIMITED, LOG_LEVEL: 'info', PAGE_CACHE_MB: '0', DATABASE_READ_MAX_LAG: '3600' }
    const { url, command } = await mahi.serve({
      ...settings,
      ...environment,
      DATABASE_READ_URL: standby.url('mahi'),
    })
    const readers = async (cluster: Cluster) =>
      (
        await cluster.query(
          `select 1 from pg_stat_activity where application_name = 'mahi' and query ~ 'document'`,
        )
      ).length
    const load = new Load([url], questions, { check: checkPage })
    await until(async () => ((await readers(standby)) > 0 ? true : undefined))
    expect(await readers(primary)).toBe(0)

    // A caller has seen the import at another process, which reads at the primary.
    await standby.pauseReplay()
    const input = '{"occupationCode":"A-NEW"}\n'
    await mahi.runJson(['occupations', 'import', '-'], { input, environment })
    const seen = await ask(
      `${(await mahi.serve({ ...UNLIMITED, ...environment })).url}/v1/occupations/A-NEW`,
      headers,
    )
    const known = { ...headers, 'x-min-revision': String(seen.headers['x-revision'] ?? seen.headers.etag) }
    expect((await ask(`${url}/v1/occupations/A-NEW`, known)).status).toBe(200)
    await standby.resumeReplay()

    await standby.kill()
    await command.output(/the standby is unavailable: reads go to the primary/)
    await load.untilMore('ok', 200)
    await standby.start()
    await command.output(/the standby is available again and serves reads/)
    await load.untilMore('ok', 200)
    expect(await load.stop()).toMatchObject({ unavailable: 0, otherwise: [] })
  },
)
