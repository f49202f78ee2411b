import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Client, createClient } from '../../client/src/index.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { readSealKeys } from '../../src/foundation/database/seal-keys.ts'
import { openSealer } from '../../src/submissions/encryption/open-sealer.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { Installation } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'
import { sourceOf } from '../support/source.ts'
import { temporaryFolder } from '../support/temporary.ts'

const keyOf = (id: string, number: number) => `${id}:${Buffer.alloc(32, number).toString('base64')}`
const [K1, K2, WRONG] = [keyOf('k1', 1), keyOf('k2', 2), keyOf('k1', 9)]
const NAME = 'Kereru7391'
const FINDINGS = 500

/** Stores findings as an earlier version does: without check values of keys. */
async function publish(database: Database, keys: string): Promise<void> {
  const sealer = new Sealer(readSealKeys(keys))
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

test('a first key and its successor encrypt what is stored, while the service runs', async () => {
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
    server?.kill('SIGTERM')
    await server?.ended
    const { command, url } = await mahi.serve(environment(keys))
    server = command
    return createClient({ baseUrl: url, apiKey, eid: '1001' })
  }
  const plain = await serve()
  const { submissionToken: token = '' } = await plain.submissions.create({ returnId: '202512' })
  await plain.submissions.putFile(token, 'people', makePeople(NAME, FINDINGS, FINDINGS).csv)
  const { runId = 0 } = await plain.submissions.validate(token)
  await plain.submissions.waitForRun(token, runId)
  const before = await read(plain, token)
  expect(before).toMatchObject({ ofStudent: { totalCount: 1 }, page: { totalCount: FINDINGS } })
  for (const [keys, id] of [
    [K1, 'k1'],
    [`${K2},${K1}`, 'k2'],
  ] as const) {
    const client = await serve(keys)
    const reencrypting = mahi.runJson(['submissions', 'reencrypt'], { environment: environment(keys) })
    expect(await read(client, token)).toEqual(before)
    expect(await reencrypting).toEqual({ key: id, files: 1, runs: 1, left: 0 })
    expect(await mahi.runJson(['status'])).toMatchObject({ encryption: [{ id, count: 2 }] })
    expect(await read(client, token)).toEqual(before)
  }
  await withDatabase(mahi.databaseUrl, async (database) => {
    for (const { name } of await database.all<{ name: string }>(database.dialect.tables))
      expect(JSON.stringify(await database.all(`select * from ${name}`)), name).not.toContain(NAME)
  })
  // Without the old key, everything can be read.
  expect(await read(await serve(K2), token)).toEqual(before)
})

test('serve, work and every command that writes or reads encrypted data refuse wrong and missing keys', async () => {
  const mahi = new Installation({ inProcesses: true })
  const input = '{"localId":"b"}\n'
  await withDatabase(mahi.databaseUrl, async (database) => {
    await publish(database, K1)
    await openSealer(database, { ENCRYPTION_KEYS: readSealKeys(K1) })
  })
  const backup = join(temporaryFolder(), 'mahi.backup')
  await mahi.runJson(['backup', backup])
  const commands = [
    ['serve', '--port', '0'],
    ['work'],
    ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', 'submission-0001', '-'],
    ['submissions', 'reencrypt'],
    ['restore', '--replace', backup],
  ]
  for (const command of commands) {
    for (const keys of [{}, { ENCRYPTION_KEYS: WRONG }]) {
      const { code, stderr } = await mahi.run(command, { input, environment: { METRICS_PORT: '0', ...keys } })
      expect([command, keys, code, stderr]).toEqual([command, keys, 1, expect.stringContaining('"k1"')])
    }
  }
  const { stdout } = await mahi.run(['doctor', '--json'], { environment: { ENCRYPTION_KEYS: WRONG } })
  expect((JSON.parse(stdout) as { findings: object[] }).findings).toContainEqual(
    expect.objectContaining({ name: 'ENCRYPTION_KEYS', state: 'bad' }),
  )
  await withDatabase(mahi.databaseUrl, async (database) => {
    expect(await database.all('select run from submission')).toEqual([{ run: 1 }])
  })
})
