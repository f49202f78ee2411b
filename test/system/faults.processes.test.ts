import { expect, test } from 'vitest'
import { Installation, toLines, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'

test('processes that start at once on a new database all serve, and each sees what commands change', async () => {
  const mahi = new Installation({ inProcesses: true })
  const settings = { ...UNLIMITED, DATABASE_POOL_SIZE: '2' }
  const servers = await Promise.all([1, 2, 3].map(() => mahi.serve(settings)))
  // Each migration was applied once: a second time it would have failed, or be listed again.
  await withDatabase(mahi.databaseUrl, async (database) => {
    const applied = await database.all<{ name: string }>('select name from migration')
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length)
  })
  const { headers, keyId, token } = await fillDatabase(mahi.databaseUrl)
  const allSee = async (path: string, sees: (status: number, body: string) => boolean) => {
    for (const { url } of servers)
      await until(async () => {
        const { status, body } = await ask(url + path, headers)
        return sees(status, body)
      })
  }
  const results = `/v1/submissions/${token}/validation-results`
  // Every page is kept in memory before it changes.
  for (const path of ['/v1/occupations', results]) await allSee(path, (status) => status === 200)
  const run = (command: readonly string[], ...records: object[]) =>
    mahi.runJson(command, { input: toLines(records) })
  await run(['occupations', 'import', '-'], { occupationCode: 'A-NEW' })
  await allSee('/v1/occupations', (_, body) => body.includes('"A-NEW"'))
  const publish = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', token, '-']
  await run(publish, { localId: 'second run' })
  await allSee(results, (_, body) => body.includes('"second run"'))
  await run(['keys', 'revoke', keyId])
  await allSee('/v1/occupations', (status) => status === 401)
  for (const { command } of servers) expect(await command.stop()).toBe(0)
})
