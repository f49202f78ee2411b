import { expect, test } from 'vitest'
import { Installation, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'

// What those who read nothing leave of the memory is a matter of tools/attacks.
test('under overload a process serves or rejects each request, and lives and recovers', async () => {
  const mahi = new Installation({ inProcesses: true })
  const { headers } = await fillDatabase(mahi.databaseUrl, 500)
  const { url } = await mahi.serve({ ...UNLIMITED, PAGE_CACHE_MB: '0', DATABASE_POOL_SIZE: '2' })
  // Each another one: no two callers share a reading.
  const pages = Array.from({ length: 400 }, (_, index) => ({
    path: `/v1/occupations?Limit=${50 + (index % 50)}&Cursor=C${100 + index}`,
    headers,
  }))
  const load = new Load([url], pages, { callers: 500 })
  // How many are rejected depends on the machine.
  await load.until(({ ok, unavailable }) => ok > 500 && ok + unavailable > 2000)
  // Whoever only asks whether it lives is not told to restart it.
  expect((await ask(`${url}/livez`, {})).status).toBe(200)
  expect((await load.stop()).otherwise).toEqual([])
  await until(async () => (await ask(`${url}/readyz`, {})).status === 200)
})
