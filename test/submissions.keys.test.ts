import { expect, test } from 'vitest'
import { type Database, DatabaseUnusable } from '../src/foundation/database/database.ts'
import { DecryptionFailed, Sealer } from '../src/foundation/database/seal.ts'
import { readSealKeys } from '../src/foundation/database/seal-keys.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { openSealer } from '../src/submissions/open-sealer.ts'
import { withDatabase } from './support/filled-database.ts'
import { sourceOf } from './support/source.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const keyOf = (id: string, number: number) => `${id}:${Buffer.alloc(32, number).toString('base64')}`
const [K1, K2, WRONG] = [keyOf('k1', 1), keyOf('k2', 2), keyOf('k1', 9)]
const settingsOf = (keys?: string) => (keys === undefined ? {} : { ENCRYPTION_KEYS: readSealKeys(keys) })

/** Stores findings in place of those before. */
async function publish(database: Database, keys?: string): Promise<void> {
  const sealer = await openSealer(database, settingsOf(keys))
  const options = { eid: '1001', returnId: 'R1', token: 'submission-0001', sealer }
  await publishResults(database, sourceOf([{ localId: 'a', studentId: 's1' }]), options)
}

async function withTemporary(work: (database: Database) => Promise<void>): Promise<void> {
  await withDatabase(temporaryDatabaseUrl(), work)
}

/** Whether the database opens with these keys, or the keys that the refusal names. */
async function attempt(database: Database, keys?: string): Promise<string> {
  try {
    await openSealer(database, settingsOf(keys))
    return 'opens'
  } catch (error) {
    if (!(error instanceof DatabaseUnusable)) throw error
    return [...error.message.matchAll(/"(k\d)"/g)].map(([, id]) => id).join(' and ')
  }
}

test('an encrypted database is refused without its keys, also before and after there is data', async () => {
  await withTemporary(async (database) => {
    expect(await attempt(database)).toBe('opens')
    expect(await attempt(database, K1)).toBe('opens')
    for (const keys of [undefined, WRONG]) expect(await attempt(database, keys)).toBe('k1')
    await publish(database, K1)
    for (const keys of [undefined, WRONG, K2]) expect(await attempt(database, keys)).toBe('k1')
    expect(await attempt(database, `${K2},${WRONG}`)).toBe('k1')
    expect(await attempt(database, `${K2},${K1}`)).toBe('opens')
  })
})

test('once a key is replaced, a refusal names the keys that the data needs', async () => {
  await withTemporary(async (database) => {
    await publish(database, K1)
    const rotated = { sealer: await openSealer(database, settingsOf(`${K2},${K1}`)) }
    const other = { eid: '1001', returnId: 'R2', token: 'submission-0002', ...rotated }
    await publishResults(database, sourceOf([{ localId: 'b' }]), other)
    expect(await attempt(database)).toBe('k1 and k2')
    expect(await attempt(database, K2)).toBe('k1')
    // The run that the old key encrypted is deleted once ten later ones are stored.
    for (let later = 0; later < 10; later++) await publish(database, `${K2},${K1}`)
    expect(await attempt(database)).toBe('k2')
    expect(await attempt(database, K1)).toBe('k2')
    expect(await attempt(database, K2)).toBe('opens')
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

test('sealed data opens only with its key, at its position, whole and unchanged', () => {
  const [key, other] = [1, 2].map((fill) => ({ id: 'k1', key: Buffer.alloc(32, fill) }))
  if (key === undefined || other === undefined) throw new Error('there are two keys')
  const sealer = new Sealer([key])
  const content = Buffer.from('Kererū')
  const sealed = sealer.begin().seal(content, 'block/1/0/0')
  const open = (data: Uint8Array, context = 'block/1/0/0', by = sealer) => by.open(data, context)
  expect(open(sealed)).toEqual(content)
  expect(() => open(sealed, 'block/1/0/1')).toThrow(DecryptionFailed)
  expect(() => open(sealed, 'block/1/0/0', new Sealer([other]))).toThrow(DecryptionFailed)
  expect(() => open(sealed, 'block/1/0/0', new Sealer([{ ...other, id: 'k2' }]))).toThrow('"k1"')
  for (let at = 4; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => open(changed), `byte ${at}`).toThrow(DecryptionFailed)
  }
  const text = sealer.begin().sealText('Kererū', 'receipt/1')
  expect(sealer.openText(text, 'receipt/1')).toBe('Kererū')
  expect(() => sealer.openText(text, 'receipt/2')).toThrow(DecryptionFailed)
})

test('no pair of key and nonce encrypts twice', () => {
  const sealer = new Sealer([{ id: 'k1', key: Buffer.alloc(32, 1) }])
  const pairs = new Set<string>()
  for (const sealing of [sealer.begin(), sealer.begin()])
    for (let part = 0; part < 300; part++) {
      // The salt, from which the key is derived, and the nonce: before them are a mark, a length and the id.
      pairs.add(
        sealing
          .seal(Buffer.from('same'), 'same')
          .subarray(4, 4 + 16 + 12)
          .toString('hex'),
      )
    }
  expect(pairs.size).toBe(600)
})
