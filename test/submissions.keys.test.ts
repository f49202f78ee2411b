import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Database, DatabaseUnusable } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { readSealKeys } from '../src/foundation/database/seal-keys.ts'
import { openSealer } from '../src/submissions/encryption/open-sealer.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Installation } from './support/command.ts'
import { withDatabase } from './support/filled-database.ts'
import { sourceOf } from './support/source.ts'
import { temporaryDatabaseUrl, temporaryFolder } from './support/temporary.ts'

const keyOf = (id: string, number: number) => `${id}:${Buffer.alloc(32, number).toString('base64')}`
const [K1, K2, WRONG] = [keyOf('k1', 1), keyOf('k2', 2), keyOf('k1', 9)]
const settingsOf = (keys?: string) => (keys === undefined ? {} : { ENCRYPTION_KEYS: readSealKeys(keys) })

/** Stores findings as an earlier version does: without check values of keys. */
async function publish(database: Database, keys?: string, token = 'submission-0001'): Promise<void> {
  const sealer = new Sealer(keys === undefined ? [] : readSealKeys(keys))
  const options = { eid: '1001', returnId: 'R1', token, sealer, keep: 1 }
  await publishResults(database, sourceOf([{ localId: 'a', studentId: 's1' }]), options)
}

async function withTemporary(work: (database: Database) => Promise<void>): Promise<void> {
  await withDatabase(temporaryDatabaseUrl(), work)
}

/** Whether the database opens with these keys, or the key that the refusal names. */
async function attempt(database: Database, keys?: string): Promise<string> {
  try {
    await openSealer(database, settingsOf(keys))
    return 'opens'
  } catch (error) {
    if (!(error instanceof DatabaseUnusable)) throw error
    return /"(k\d)"/.exec(error.message)?.[1] ?? error.message
  }
}

test('a database of an earlier version opens with the keys that decrypt it, and then only with them', async () => {
  await withTemporary(async (database) => {
    await publish(database, K1)
    expect(await attempt(database, WRONG)).toBe('k1')
    expect(await attempt(database)).toBe('k1')
    expect(await attempt(database, K2)).toBe('k1')
    for (const keys of [K1, `${K2},${K1}`, K1]) expect(await attempt(database, keys)).toBe('opens')
    for (const keys of [WRONG, undefined, K2]) expect(await attempt(database, keys)).toBe('k1')
  })
})

test('an encrypted database is refused without its keys, also before and after there is data', async () => {
  await withTemporary(async (database) => {
    expect(await attempt(database)).toBe('opens')
    expect(await attempt(database, K1)).toBe('opens')
    for (const keys of [undefined, WRONG]) expect(await attempt(database, keys)).toBe('k1')
    await publish(database, K1)
    // The only encrypted run is replaced.
    await publish(database, K2)
    expect(await attempt(database, K2)).toBe('opens')
    expect(await attempt(database, `${K2},${WRONG}`)).toBe('k1')
    expect(await attempt(database)).toBe('k1')
  })
})

test('a database with plain data can begin to encrypt', async () => {
  await withTemporary(async (database) => {
    await publish(database)
    expect(await attempt(database)).toBe('opens')
    expect(await attempt(database, K1)).toBe('opens')
    expect(await attempt(database)).toBe('k1')
  })
})

test('processes with different keys of one name cannot both begin', async () => {
  await withTemporary(async (database) => {
    const outcomes = await Promise.all([K1, WRONG].map((keys) => attempt(database, keys)))
    expect(outcomes.sort()).toEqual(['k1', 'opens'])
  })
})

test('serve, work and every command that writes or reads encrypted data refuse wrong and missing keys', {
  timeout: 300_000,
}, async () => {
  const mahi = new Installation()
  const input = '{"localId":"b"}\n'
  await withDatabase(mahi.databaseUrl, async (database) => {
    await publish(database, K1)
    await openSealer(database, settingsOf(K1))
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

test('commands read the keys from a file too', async () => {
  const mahi = new Installation()
  const keys = join(temporaryFolder(), 'keys')
  writeFileSync(keys, `${K2}\n${K1}\n`)
  const environment = { ENCRYPTION_KEYS_FILE: keys }
  const examine = async () => {
    const { stdout } = await mahi.run(['doctor', '--json'], { environment })
    const { findings } = JSON.parse(stdout) as { findings: { name: string; message: string }[] }
    return findings.find(({ name }) => name === 'ENCRYPTION_KEYS')?.message
  }
  await withDatabase(mahi.databaseUrl, (database) => publish(database, K1))
  expect(await examine()).toMatch(/^1 file or run is encrypted with another key/)
  const backup = join(temporaryFolder(), 'mahi.backup')
  await mahi.runJson(['backup', backup], { environment })
  await mahi.runJson(['submissions', 'reencrypt'], { environment })
  expect(await examine()).toBe('"k2" encrypts everything.')
  await mahi.runJson(['restore', '--replace', backup], { environment })
  expect(await examine()).toMatch(/^1 file or run is encrypted with another key/)
})
