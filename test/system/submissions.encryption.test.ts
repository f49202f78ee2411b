import { expect, test } from 'vitest'
import { type Client, createClient } from '../../client/src/index.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { readSealKeys } from '../../src/foundation/database/seal-keys.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { openSealer } from '../../src/submissions/open-sealer.ts'
import { DEADLINE, Installation, until } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'
import { sourceOf } from '../support/source.ts'

const keyOf = (id: string, number: number) => `${id}:${Buffer.alloc(32, number).toString('base64')}`
const [K1, K2, WRONG] = [keyOf('k1', 1), keyOf('k2', 2), keyOf('k1', 9)]
const NAME = 'Kereru7391'
const FINDINGS = 500

async function publish(database: Database, keys: string): Promise<void> {
  const sealer = await openSealer(database, { ENCRYPTION_KEYS: readSealKeys(keys) })
  const options = { eid: '1001', returnId: 'R1', token: 'submission-0001', sealer, keep: 1 }
  await publishResults(database, sourceOf([{ localId: 'a', studentId: 's1' }]), options)
}

/** What callers read: pages with and without filters, the summary and a file. */
async function read({ submissions, validationResults }: Client, token: string): Promise<object> {
  return {
    file: await new Response(await submissions.getFile(token, 'people')).text(),
    summary: await submissions.summary(token),
    page: await validationResults.page(token, { page: 5, pageSize: 100 }),
    ofStudent: await validationResults.page(token, { studentId: '25' }),
  }
}

test('a first key and its successor encrypt what is stored from then on, and the old data is read until it is replaced', async () => {
  const mahi = new Installation({ inProcesses: true })
  const definition = makeSmallDefinition()
  const environment = (keys?: string) => ({
    DEFINITIONS: definition,
    RATE_LIMIT_SUBMISSIONS: 'off',
    RATE_LIMIT_RESULTS: 'off',
    WORKERS: '1',
    ...(keys !== undefined && { ENCRYPTION_KEYS: keys }),
  })
  const scopes = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
  const apiKey = await mahi.createKey({ scopes, eids: ['1001'] })
  let server: Awaited<ReturnType<Installation['serve']>>['command'] | undefined
  const serve = async (keys?: string) => {
    await server?.stop()
    const { command, url } = await mahi.serve(environment(keys))
    server = command
    return createClient({ baseUrl: url, apiKey, eid: '1001', deadline: DEADLINE })
  }
  const store = async ({ submissions }: Client, returnId: string) => {
    const { submissionToken: token = '' } = await submissions.create({ returnId })
    await submissions.putFile(token, 'people', makePeople(NAME, FINDINGS, FINDINGS).csv)
    const { runId = 0 } = await submissions.validate(token)
    await submissions.waitForRun(token, runId)
    return token
  }
  const counted = async () => {
    const status = await mahi.runJson(['status'], { environment: { ENCRYPTION_KEYS: `${K2},${K1}` } })
    const { encryption } = status as { encryption: object[] }
    return encryption
  }
  const plain = await serve()
  const token = await store(plain, '202512')
  const before = await read(plain, token)
  expect(before).toMatchObject({ ofStudent: { totalCount: 1 }, page: { totalCount: FINDINGS } })
  // Files, what was done with them and runs of before stay as they are, and are read as before.
  const first = await serve(K1)
  expect(await read(first, token)).toEqual(before)
  const sealed = await store(first, '202508')
  const shown = await read(first, sealed)
  const both = await serve(`${K2},${K1}`)
  expect([await read(both, token), await read(both, sealed)]).toEqual([before, shown])
  expect(await counted()).toHaveLength(2)
  for (const id of [null, 'k1']) expect(await counted()).toContainEqual({ id, count: 3 })
  await both.submissions.delete(token)
  await both.submissions.delete(sealed)
  const successor = await store(both, '202604')
  const latest = await read(both, successor)
  expect(await counted()).toEqual([{ id: 'k2', count: 3 }])
  expect((await mahi.run(['status'])).stdout).toMatch(/^Encryption +stored items: 3 with k2$/m)
  const holdsName = () =>
    withDatabase(mahi.databaseUrl, async (database) => {
      for (const { name } of await database.all<{ name: string }>(database.dialect.tables))
        if (JSON.stringify(await database.all(`select * from ${name}`)).includes(NAME)) return true
      return false
    })
  // The worker has deleted what was plain.
  await until(async () => ((await holdsName()) ? undefined : true))
  // Without the old key, everything can be read.
  expect(await read(await serve(K2), successor)).toEqual(latest)
  // Without any, the key to look for is the new one.
  expect((await mahi.run(['status'])).stdout).toMatch(/^ENCRYPTION_KEYS.* encrypted with the key "k2", and/m)
})

test('serve, work and every command that writes or reads encrypted data refuse wrong and missing keys', async () => {
  const mahi = new Installation({ inProcesses: true })
  const input = '{"localId":"b"}\n'
  await withDatabase(mahi.databaseUrl, async (database) => {
    await publish(database, K1)
  })
  const commands = [
    ['serve', '--port', '0'],
    ['work'],
    ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', 'submission-0001', '-'],
    ['after-restore'],
  ]
  for (const command of commands) {
    for (const keys of [{}, { ENCRYPTION_KEYS: WRONG }]) {
      const { code, stderr } = await mahi.run(command, { input, environment: { METRICS_PORT: '0', ...keys } })
      expect([command, keys, code, stderr]).toEqual([command, keys, 1, expect.stringContaining('"k1"')])
    }
  }
  const { stdout } = await mahi.run(['status', '--json'], { environment: { ENCRYPTION_KEYS: WRONG } })
  expect((JSON.parse(stdout) as { faults: object[] }).faults).toContainEqual(
    expect.objectContaining({ name: 'ENCRYPTION_KEYS', state: 'bad' }),
  )
  await withDatabase(mahi.databaseUrl, async (database) => {
    expect(await database.all('select run from submission')).toEqual([{ run: 1 }])
  })
})
