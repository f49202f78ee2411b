import { createHash } from 'node:crypto'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { LightMyRequestResponse } from 'fastify'
import { expect, test } from 'vitest'
import { SnapshotStore } from '../src/catalogue/history/snapshot-store.ts'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { untilHolds } from './support/command.ts'
import { exportText } from './support/opened.ts'
import { Service, sourceOf } from './support/service.ts'
import { temporaryFolder } from './support/temporary.ts'

const URL = '/v1/occupations/snapshot'

const record = (number: number, title = 'A title') => ({ occupationCode: `O${number}`, titleEnglish: title })
const many = Array.from({ length: 350 }, (_, number) => record(number, `Title ${number} `.repeat(9)))

const sha256 = (bytes: Buffer | string) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`

function unpack({ headers, rawPayload }: LightMyRequestResponse): string {
  const encoding = headers['content-encoding']
  const bytes = encoding === 'gzip' ? gunzipSync(rawPayload) : rawPayload
  expect(headers['content-length']).toBe(String(rawPayload.length))
  expect(headers['repr-digest']).toBe(sha256(rawPayload))
  expect(headers['ndjson-digest']).toBe(sha256(bytes))
  return bytes.toString('utf8')
}

test('a snapshot is the export, in every encoding, with digests and the token to continue from', async () => {
  const service = await Service.start()
  await service.import(many)
  const truth = await exportText(service.database)

  const plain = await service.get(URL)
  expect(plain.statusCode).toBe(200)
  expect(plain.headers['content-type']).toMatch(/^application\/x-ndjson/)
  expect(plain.headers).toMatchObject({ 'catalogue-revision': '1', 'total-count': '350' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(unpack(plain)).toBe(truth)

  const gzip = await service.get(URL, { 'accept-encoding': 'gzip' })
  expect(gzip.headers['content-encoding']).toBe('gzip')
  expect(gzip.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2)
  expect(unpack(gzip)).toBe(truth)

  // Brotli would be made for few.
  const both = await service.get(URL, { 'accept-encoding': 'br, gzip' })
  expect(both.headers['content-encoding']).toBe('gzip')

  await service.import([record(3, 'Another')])
  const token = String(gzip.headers['delta-token'])
  const { changes } = (await service.get(`/v1/occupations/changes?Since=${token}`)).json()
  expect(changes).toMatchObject([{ change: 'updated', occupationCode: 'O3' }])
  expect(unpack(await service.get(URL))).toBe(await exportText(service.database))
})

test('a request does not get a snapshot that was begun before the revision that is current', async () => {
  const { database, revisions } = await Service.start()
  await importOccupations(database, sourceOf(many))
  await revisions.refresh()
  const [read, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Pick<Database, 'snapshot'> = {
    snapshot: async (work) => {
      const result = await database.snapshot(work)
      read.resolve()
      await finish.promise
      return result
    },
  }
  const store = new SnapshotStore(
    Object.assign(Object.create(database) as Database, slow),
    temporaryFolder(),
    revisions.current.catalogue,
    () => undefined,
  )
  const first = store.open('gzip')
  await read.promise
  await importOccupations(database, sourceOf([record(1)]))
  await revisions.refresh()
  store.advance(revisions.current.catalogue)
  const second = store.open('gzip')
  finish.resolve()
  for (const [opened, revision] of [
    [await first, 1],
    [await second, 2],
  ] as const) {
    expect(opened.snapshot.revision.number).toBe(revision)
    await opened.close()
  }
  await store.close()
})

test('a snapshot has an ETag, and HEAD has the headers alone', async () => {
  const service = await Service.start()
  await service.import(many)
  const { headers } = await service.get(URL, { 'accept-encoding': 'gzip' })
  const etag = String(headers.etag)
  expect((await service.get(URL, { 'if-none-match': etag })).statusCode).toBe(304)
  const head = await service.request({
    method: 'HEAD',
    url: URL,
    headers: { 'x-api-key': service.key, 'accept-encoding': 'gzip' },
  })
  expect([head.statusCode, head.body]).toEqual([200, ''])
  for (const name of ['etag', 'content-length', 'content-encoding', 'repr-digest', 'delta-token'])
    expect(head.headers[name]).toBe(headers[name])
  await service.import([record(1)])
  expect((await service.get(URL, { 'if-none-match': etag })).statusCode).toBe(200)
})

test('each revision has one snapshot, and the previous one is removed', async () => {
  const path = temporaryFolder()
  const service = await Service.start({ SNAPSHOT_FOLDER: path })
  await service.import(many)
  await Promise.all(Array.from({ length: 9 }, () => service.get(URL, { 'accept-encoding': 'gzip' })))
  const files = readdirSync(path).sort()
  expect(files.map((file) => file.replace(/^snapshot-[0-9a-f]{32}/, ''))).toEqual([
    '.ndjson',
    '.ndjson.gz',
    '.ndjson.json',
  ])
  for (const file of files) expect(statSync(join(path, file)).mode & 0o777).toBe(0o600)
  const made = statSync(join(path, files[0] ?? '')).mtimeMs

  // Another process of the same database finds the file.
  const headers = { 'accept-encoding': 'gzip' }
  await service.get(URL, headers)
  expect(statSync(join(path, files[0] ?? '')).mtimeMs).toBe(made)
  await service.import([record(1)])
  await service.get(URL, headers)
  await untilHolds(() => expect(readdirSync(path)).toHaveLength(3))
  expect(readdirSync(path)).not.toContain(files[0])
})

test('files that were cut off or lost are made again', async () => {
  const path = temporaryFolder()
  const service = await Service.start({ SNAPSHOT_FOLDER: path })
  await service.import(many)
  const truth = unpack(await service.get(URL))
  for (const file of readdirSync(path)) rmSync(join(path, file))
  expect(unpack(await service.get(URL))).toBe(truth)
  for (const file of readdirSync(path)) if (file.endsWith('.gz')) writeFileSync(join(path, file), 'short')
  const other = await Service.start({ SNAPSHOT_FOLDER: path })
  await other.import([record(1)])
  expect(unpack(await other.get(URL))).toBe(await exportText(other.database))
})

test('a folder that cannot be used gets 503 and a line in the log', async () => {
  const path = join(temporaryFolder(), 'file')
  writeFileSync(path, '')
  const service = await Service.start({ SNAPSHOT_FOLDER: path })
  await service.import([record(1)])
  const response = await service.get(URL)
  expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '60'])
  expect(service.log.join('')).toContain('check SNAPSHOT_FOLDER')
})
