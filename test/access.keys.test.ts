import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listKeys, rotateKey } from '../src/api/access/keys.ts'
import { Installation } from './support/command.ts'
import { Service } from './support/service.ts'
import { engine } from './support/temporary.ts'

const KEY = /^(mahi_[0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

/** Asks for the catalogue with a key. */
async function statusOf(service: Service, key: string): Promise<number> {
  return (await service.get('/v1/occupations', { 'x-api-key': key })).statusCode
}

/** All that the database holds: a SQLite file's own bytes, or every row of every table. */
async function dump({ database }: Service): Promise<string> {
  if (engine === 'sqlite') {
    const path = database.address.slice('sqlite:'.length)
    const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file))
    return Buffer.concat(files.map((file) => readFileSync(file))).toString('latin1')
  }
  const tables = await database.all<{ name: string }>(database.dialect.tables)
  const rows = await Promise.all(tables.map(({ name }) => database.all(`select * from ${name}`)))
  return JSON.stringify(rows)
}

test('a key that another process revokes stops working, even if it was just used', async () => {
  const installation = new Installation()
  const service = await Service.start({}, installation.databaseUrl)
  const { id, key } = await service.createKey({ client: 'vendor' })
  const other = await service.createKey({ client: 'vendor' })
  expect(await statusOf(service, key)).toBe(200)

  expect(await installation.runJson(['keys', 'revoke', id])).toEqual({ id, revoked: true })
  // The services read what has changed four times a second.
  await service.revisions.refresh()
  expect(await statusOf(service, key)).toBe(401)
  expect(await statusOf(service, other.key)).toBe(200)

  // Once revoked, it stays so.
  await installation.runJson(['keys', 'revoke', id])
  expect(await statusOf(service, key)).toBe(401)
})

test('a key that expires stops working, even if it was just used', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const service = await Service.start()
  const expires = Date.now() + 60_000
  const { key } = await service.createKey({ expires })
  expect(await statusOf(service, key)).toBe(200)
  vi.setSystemTime(expires - 1)
  expect(await statusOf(service, key)).toBe(200)
  vi.setSystemTime(expires)
  expect(await statusOf(service, key)).toBe(401)
})

test('a key that is rotated twice at once ends as early as either of them says', async () => {
  const service = await Service.start()
  const day = 86_400_000
  const now = Date.now()
  for (let round = 0; round < 5; round++) {
    const { id } = await service.createKey({ client: 'rotated', expires: now + 300 * day })
    const rotated = await Promise.all(
      [1, 7, 2].map((days) =>
        rotateKey(service.database, id, { until: now + days * day, expires: now + 365 * day }),
      ),
    )
    const key = (await listKeys(service.database)).find((each) => each.id === id)
    expect(key?.expires).toBe(now + day)
    expect(rotated.every((each) => each !== undefined && each.old.expires >= now + day)).toBe(true)
  }
})

test('every key has a different id and a different secret', async () => {
  const service = await Service.start()
  const keys = await Promise.all(Array.from({ length: 20 }, async () => await service.createKey({})))
  const parts = keys.map(({ key }) => KEY.exec(key)?.slice(1) ?? [])
  expect(new Set(parts.map(([id]) => id)).size).toBe(20)
  expect(new Set(parts.map(([, secret]) => secret)).size).toBe(20)
  for (const [, secret = ''] of parts) expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
})

test('the database contains the hash of a key, and nothing that could be used instead', async () => {
  const service = await Service.start()
  const { id, key } = await service.createKey({ client: 'vendor', eids: ['1001'] })
  expect(await statusOf(service, key)).toBe(200)

  const stored = await dump(service)
  expect(stored).toContain(id)
  expect(stored).toContain(hash('sha256', key, 'base64url'))
  const secret = KEY.exec(key)?.[2] ?? ''
  expect(secret).toHaveLength(43)
  for (const text of [key, secret, Buffer.from(secret, 'base64url').toString('hex')]) {
    expect(stored.includes(text)).toBe(false)
  }
  expect(stored.includes(Buffer.from(secret, 'base64url').toString('latin1'))).toBe(false)
  // What is stored is no key itself.
  expect(await statusOf(service, `${id}_${hash('sha256', key, 'base64url')}`)).toBe(401)
  expect(await statusOf(service, hash('sha256', key, 'base64url'))).toBe(401)
})
