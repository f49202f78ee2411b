import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { submit } from '../../src/submissions/explanations/submit.ts'
import { applyBatch } from '../../src/submissions/files/batch.ts'
import { readCurrentFile } from '../../src/submissions/files/current-file.ts'
import { findFileJob } from '../../src/submissions/files/file-job.ts'
import { receiveUpload, type Upload } from '../../src/submissions/files/upload.ts'
import { cancelSubmission } from '../../src/submissions/retention/ending.ts'
import { sweep } from '../../src/submissions/retention/sweep.ts'
import { Definitions } from '../../src/submissions/rules/definitions.ts'
import { cancelRun, requestRun } from '../../src/submissions/runs/validation.ts'
import { readRun } from '../../src/submissions/submission/runs.ts'
import {
  createSubmission,
  findOwn,
  listFiles,
  readState,
} from '../../src/submissions/submission/submission.ts'
import { FileWorker } from '../support/file-worker.ts'
import { openPool } from '../support/service.ts'
import { makeSmallDefinition } from '../support/small-definition.ts'
import { countStored } from '../support/stored-findings.ts'
import { startWorker } from '../support/submission-worker.ts'
import { engine, temporaryDatabaseUrl } from '../support/temporary.ts'

const EID = '1001'
const KEY = { id: 'k1', key: new Uint8Array(32).fill(7) }

/** A database with submissions, and a worker once it is needed. */
class Store {
  readonly database: Database
  readonly url: string
  readonly #definition = makeSmallDefinition()
  readonly definitions = new Definitions([this.#definition])
  readonly sealer: Sealer

  private constructor(database: Database, url: string, sealer: Sealer) {
    this.database = database
    this.url = url
    this.sealer = sealer
  }

  static async open(sealer = new Sealer()): Promise<Store> {
    const url = temporaryDatabaseUrl()
    const database = await openPool(url)
    onTestFinished(() => database.close())
    return new Store(database, url, sealer)
  }

  /** What submitting needs. */
  get submitting() {
    const { database, sealer, definitions } = this
    return { database, sealer, definitions }
  }

  async create(returnId = '202512'): Promise<string> {
    const { submission } = await createSubmission(this.database, {
      eid: EID,
      returnId,
      definition: 'small',
    })
    return submission.token
  }

  async put(
    token: string,
    resource: string,
    content: string | Buffer,
    { maxBytes = 50_000_000, ...rest }: Partial<Upload> & { maxBytes?: number } = {},
  ) {
    const { database, sealer, definitions } = this
    return await new FileWorker(database, { sealer, definitions, maxBytes }).store({
      token,
      eid: EID,
      resource,
      format: String(content).startsWith('{') ? 'ndjson' : 'csv',
      content: pieces(Buffer.from(content)),
      ...rest,
    })
  }

  async batch(token: string, resource: string, operations: { localId: string; record?: object }[]) {
    return await applyBatch(this.database, this.sealer, {
      token,
      eid: EID,
      resource,
      operations: operations as never,
    })
  }

  async state(token: string) {
    const submission = await findOwn(this.database, EID, token)
    if (submission === undefined) throw new Error('there is no such submission')
    return await readState(this.database, submission)
  }

  /** The resulting files, by their names. */
  async files(token: string, sealer = this.sealer): Promise<Map<string, Buffer>> {
    const files = new Map<string, Buffer>()
    for (const file of await listFiles(this.database, token)) {
      const chunks: Buffer[] = []
      for await (const chunk of readCurrentFile(this.database, sealer, file)) chunks.push(chunk)
      files.set(`${file.resource}.${file.format}`, Buffer.concat(chunks))
    }
    return files
  }

  async startWorker() {
    return await startWorker(this.database, [this.#definition], { sealer: this.sealer, inProcesses: true })
  }

  /** Requests a run, and waits for its end. */
  async validate(token: string) {
    const { run } = await requestRun(this.database, { token, eid: EID })
    for (;;) {
      const now = await readRun(this.database, run.run)
      if (now?.completed != null) return now
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** Waits until no job of the kind is left. */
  async untilDone(kind: string): Promise<void> {
    while ((await this.database.get('select id from job where kind = $1', [kind])) !== undefined)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function* pieces(content: Buffer, size = 1000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

/** The content of an upload that pauses before its end. */
class PausedContent {
  readonly #started = Promise.withResolvers<void>()
  readonly #resumed = Promise.withResolvers<void>()
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Settles once the upload reads its content. */
  get started(): Promise<void> {
    return this.#started.promise
  }

  resume(): void {
    this.#resumed.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    this.#started.resolve()
    yield Buffer.from(this.#text)
    await this.#resumed.promise
  }
}

const PEOPLE = 'localId,id,group,age\n1,A1,G1,20\n2,A2,G9,12\n'

test('an upload is stored in chunks and read back byte for byte, plain, gzipped or encrypted', async () => {
  for (const sealer of [new Sealer(), new Sealer([KEY])]) {
    const store = await Store.open(sealer)
    const token = await store.create()
    const rows = Array.from({ length: 120_000 }, (_, index) => `${index},P${index},G1,20`)
    const text = `\ufefflocalId,id,group,age\r\n${rows.join('\r\n')}`
    const sha256 = createHash('sha256').update(text).digest('hex')
    const packed = gzipSync(text)
    for (const [content, gzip] of [
      [Buffer.from(text), false],
      [packed, true],
    ] as const) {
      const digest = createHash('sha256').update(content).digest()
      const stored = await store.put(token, 'people', content, {
        format: 'csv',
        gzip,
        digest,
        content: pieces(content, 65_537),
      })
      expect(stored).toMatchObject({ records: 120_000, bytes: Buffer.byteLength(text), sha256 })
      expect((await store.files(token)).get('people.csv')?.toString()).toBe(text)
    }
    const chunks = await store.database.get<{ chunks: number }>(
      'select count(*) as chunks from file_chunk c join submission_file f on f.version = c.version',
    )
    expect(chunks?.chunks).toBeGreaterThan(1)
    if (sealer.keyId !== null) await expect(store.files(token, new Sealer())).rejects.toThrow('"k1"')
  }
})

test('an upload that is refused leaves the file before, and nothing of itself', async () => {
  const store = await Store.open()
  const token = await store.create()
  const before = await store.put(token, 'people', PEOPLE)
  const bomb = gzipSync(Buffer.alloc(60_000_000, `${'a,b'.repeat(40)}\n`))
  const refusals: [string | Buffer, Partial<Upload> & { maxBytes?: number }, object][] = [
    [Buffer.from('PK\x03\x04 and so on'), { format: 'csv' }, { slug: 'invalid-body' }],
    [
      '',
      { format: 'csv' },
      {
        slug: 'invalid-body',
        message: expect.stringMatching(/^people: The file is empty\. Export the file again/),
      },
    ],
    [PEOPLE, { digest: Buffer.alloc(32) }, { slug: 'invalid-body' }],
    [PEOPLE, { ifMatch: ['"other"'] }, { slug: 'precondition-failed' }],
    [PEOPLE, { maxBytes: 20 }, { slug: 'content-too-large' }],
    [bomb, { format: 'csv', gzip: true }, { slug: 'content-too-large' }],
    [
      gzipSync(PEOPLE).subarray(0, 40),
      { format: 'csv', gzip: true },
      { slug: 'invalid-body', members: { errorCode: 'GM1' } },
    ],
    ['not gzip at all', { gzip: true }, { slug: 'invalid-body', members: { errorCode: 'GM1' } }],
  ]
  for (const [content, rest, refusal] of refusals) {
    await expect(store.put(token, 'people', content, rest)).rejects.toMatchObject(refusal)
  }
  const broken = async function* () {
    yield Buffer.from('localId,id\n')
    throw new Error('the connection was lost')
  }
  await expect(store.put(token, 'people', PEOPLE, { content: broken() })).rejects.toThrow('was lost')
  expect((await store.state(token)).files).toEqual([before])
  await sweep(store.database)
  expect(await store.database.all('select version from file_version')).toEqual([{ version: before.version }])
  expect(await store.database.all('select version from file_chunk')).toEqual([{ version: before.version }])
  const etag = `"${before.sha256}"`
  expect((await store.put(token, 'people', PEOPLE, { ifMatch: [etag] })).records).toBe(2)
})

test('of two uploads of a file, the one that arrived later stays, whichever is read first', async () => {
  const store = await Store.open()
  const token = await store.create()
  const send = (content: string) =>
    receiveUpload(store.database, store.sealer, {
      ...{ token, eid: EID, resource: 'people', format: 'csv', gzip: false, isContainer: false },
      ...{ content: pieces(Buffer.from(content)) },
    } as const)
  const earlier = await send(PEOPLE)
  await new Promise((resolve) => setTimeout(resolve, 2))
  const later = await send('localId,id,group,age\n1,A1,G1,20\n')
  // What depends on the files waits until they are read.
  const busy = { slug: 'conflict', members: { errorCode: 'DS1' } }
  await expect(store.validate(token)).rejects.toMatchObject(busy)
  await expect(store.batch(token, 'groups', [{ localId: '1', record: {} }])).rejects.toMatchObject(busy)
  await expect(
    submit(store.submitting, { token, eid: EID, actor: { id: 'test', name: 'Test' } }),
  ).rejects.toMatchObject(busy)
  await store.database.write('schema', (writer) =>
    writer.run('update job set due = due + 60000 where subject = $1', [earlier]),
  )
  const worker = new FileWorker(store.database, { sealer: store.sealer, definitions: store.definitions })
  expect(await worker.takeOne()).toBe(true)
  await store.database.write('schema', (writer) => writer.run('update job set due = 1'))
  expect(await worker.takeOne()).toBe(true)
  expect(await findFileJob(store.database, store.sealer, earlier)).toMatchObject({
    status: 'Halted',
    refused: busy,
  })
  expect(await findFileJob(store.database, store.sealer, later)).toMatchObject({ status: 'Processed' })
  expect((await store.state(token)).files).toMatchObject([{ records: 1 }])
})

test('an upload that paused until its data was deleted fails, and leaves the file before', async () => {
  const store = await Store.open()
  const token = await store.create()
  const before = await store.put(token, 'people', PEOPLE)
  const content = new PausedContent(PEOPLE)
  const paused = store.put(token, 'people', PEOPLE, { content })
  await content.started
  await store.database.write('schema', (writer) =>
    writer.run('update file_version set received = 1 where stored = 0'),
  )
  await sweep(store.database)
  content.resume()
  await expect(paused).rejects.toMatchObject({ slug: 'conflict', members: { errorCode: 'DS1' } })
  expect((await store.state(token)).files).toMatchObject([{ version: before.version }])
  expect((await store.put(token, 'people', PEOPLE)).records).toBe(2)
})

test('a run reads the files as they were when it was requested, and the submission ends only without errors', async () => {
  const store = await Store.open()
  const token = await store.create()
  await expect(store.validate(token)).rejects.toMatchObject({ slug: 'invalid-body' })
  await store.put(token, 'people', PEOPLE)
  await store.put(token, 'groups', 'localId,code,title\n1,G1,A group with a long title\n')
  const { run } = await requestRun(store.database, { token, eid: EID })
  expect((await requestRun(store.database, { token, eid: EID })).created).toBe(false)
  await store.put(token, 'people', 'localId,id,group,age\n1,A1,G1,20\n')
  expect((await store.state(token)).status).toBe('Validating')
  // A sweep that comes first deletes nothing that the run will read.
  await sweep(store.database)
  await store.startWorker()
  const ended = await store.validate(token)
  expect(ended).toMatchObject({ run: run.run, status: 'Processed', errors: 2, warnings: 1 })
  expect((await store.state(token)).status).toBe('Pending')
  await expect(
    submit(store.submitting, { token, eid: EID, actor: { id: 'test', name: 'Test' } }),
  ).rejects.toMatchObject({
    slug: 'conflict',
  })
  expect(await store.validate(token)).toMatchObject({ number: 2, errors: 0, warnings: 1 })
  expect((await store.state(token)).status).toBe('Validated')
  await submit(store.submitting, { token, eid: EID, actor: { id: 'test', name: 'Test' } })
  expect((await store.state(token)).status).toBe('Submitted')
  await expect(store.put(token, 'people', PEOPLE)).rejects.toMatchObject({ slug: 'conflict' })
  // The replaced file is deleted once no run needs it.
  await sweep(store.database)
  expect(await store.database.all('select version from file_version')).toHaveLength(2)
})

/** A part of each piece of files and findings, as it is stored: compressed, so that nobody finds a text in it. */
async function readStored(database: Database): Promise<Buffer[]> {
  const rows = await database.all<{ piece: Uint8Array }>(
    'select data as piece from file_chunk union all select content as piece from result_block',
  )
  return rows.map(({ piece }) => Buffer.from(piece).subarray(16, 48))
}

test('a cancelled submission leaves nothing of its records in any table, nor in the file of the database', async () => {
  const store = await Store.open()
  const secrets = ['Kererū-7391', 'QXZ-unmistakable']
  const token = await store.create()
  const [one, other] = secrets
  const rows = Array.from({ length: 500 }, (_, index) => `L${index}-${other},${one},${other},12`)
  await store.put(token, 'people', `localId,id,group,age\n${rows.join('\n')}\n`)
  await store.batch(token, 'groups', [
    { localId: `L1-${other}`, record: { localId: `L1-${other}`, code: one } },
  ])
  await store.startWorker()
  await store.validate(token)
  const path = store.url.slice('sqlite:'.length)
  // Files and findings are compressed; summaries are not.
  const stored = [...(await readStored(store.database)), ...secrets.map((secret) => Buffer.from(secret))]
  const kept = () =>
    [path, `${path}-wal`].flatMap((name) => stored.filter((piece) => readFileSync(name).includes(piece)))
  if (engine === 'sqlite') expect(new Set(kept())).toEqual(new Set(stored))
  const stay = await store.create('202604')
  await store.put(stay, 'people', PEOPLE)
  await cancelSubmission(store.database, { token, eid: EID, actor: { id: 'test', name: 'Test' } })
  expect((await store.state(token)).status).toBe('Cancelled')
  await store.untilDone('purge')

  const tables = await store.database.all<{ name: string }>(store.database.dialect.tables)
  for (const { name } of tables) {
    const content = await store.database.all<Record<string, unknown>>(`select * from ${name}`)
    const text = JSON.stringify(content)
    for (const secret of secrets) expect(text, name).not.toContain(secret)
  }
  expect(await store.database.all('select version from file_chunk')).toHaveLength(1)
  if (engine === 'sqlite') {
    expect(statSync(path).mode & 0o077).toBe(0)
    expect(kept()).toEqual([])
  }
  const activities = await store.database.all<{ event: string }>(
    'select event from activity where token = $1 order by id',
    [token],
  )
  expect(activities.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['Created', 'Deleted', 'Purged']),
  )
})

test('a cancelled run stores nothing, whether it waits or is in progress', async () => {
  const store = await Store.open()
  const token = await store.create()
  await store.put(token, 'people', PEOPLE)
  const first = await requestRun(store.database, { token, eid: EID })
  const ended = await cancelRun(store.database, { token, eid: EID, number: first.run.number })
  expect(ended.run.status).toBe('Cancelled')
  expect((await store.state(token)).status).toBe('Pending')
  const second = await requestRun(store.database, { token, eid: EID })
  await store.startWorker()
  while ((await readRun(store.database, second.run.run))?.status === 'Queued')
    await new Promise((resolve) => setTimeout(resolve, 5))
  const stopped = await cancelRun(store.database, { token, eid: EID, number: second.run.number })
  // It may have been quicker than the call.
  if (stopped.run.status === 'Cancelled') {
    expect(await countStored(store.database)).toBe(0)
  }
  expect((await store.validate(token)).status).toBe('Processed')
})
