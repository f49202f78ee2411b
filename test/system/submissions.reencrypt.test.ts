import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Client, createClient } from '../../client/src/index.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { readSealKeys } from '../../src/foundation/database/seal-keys.ts'
import { BLOCK_FINDINGS } from '../../src/submissions/findings/blocks.ts'
import { Installation, type RunningCommand, until } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'

const keyOf = (number: number) => `k${number}:${Buffer.alloc(32, number).toString('base64')}`
const [K1, K2] = [keyOf(1), keyOf(2)]
const COMMAND = ['submissions', 'reencrypt']
const LONG = { timeout: 400_000 }

/** Findings of the run that is encrypted again, in several transactions. */
const FINDINGS = 8_000
/** Of their documents, and of their details. */
const BLOCKS = (2 * FINDINGS) / BLOCK_FINDINGS
const NAME = 'Kereru7391'

/** A service with a validated submission, whose encryption keys change. */
class Place {
  readonly mahi = new Installation()
  readonly #definition = makeSmallDefinition()
  #key = ''
  #server: RunningCommand | undefined
  token = ''

  static async create(keys?: string): Promise<{ place: Place; client: Client }> {
    const place = new Place()
    const scopes = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
    place.#key = await place.mahi.createKey({ scopes, eids: ['1001'] })
    const client = await place.serve(keys)
    const { submissionToken = '' } = await client.submissions.create({ returnId: '202512' })
    place.token = submissionToken
    await client.submissions.putFile(submissionToken, 'people', makePeople(NAME, FINDINGS, FINDINGS).csv)
    await client.submissions.putRecords(submissionToken, 'people', [
      { localId: 'added', id: 'ZZZZ', age: 30 },
    ])
    await place.validate(client, keys)
    return { place, client }
  }

  environment(keys?: string): Record<string, string> {
    return {
      DEFINITIONS: this.#definition,
      RATE_LIMIT_SUBMISSIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      ...(keys !== undefined && { ENCRYPTION_KEYS: keys }),
    }
  }

  /** Replaces the server by one with other keys. */
  async serve(keys?: string): Promise<Client> {
    this.#server?.kill('SIGTERM')
    await this.#server?.ended
    const { command, url } = await this.mahi.serve(this.environment(keys))
    this.#server = command
    return createClient({ baseUrl: url, apiKey: this.#key, eid: '1001', deadline: 60_000 })
  }

  async validate({ submissions }: Client, keys?: string): Promise<void> {
    const { runId = 0 } = await submissions.validate(this.token)
    const worker = this.mahi.start(['work'], { environment: this.environment(keys) })
    expect(await submissions.waitForRun(this.token, runId)).toMatchObject({ status: 'Processed' })
    worker.kill('SIGTERM')
    await worker.ended
  }

  /** What callers read: pages with and without filters, the summary and a file. */
  async read({ submissions, validationResults }: Client): Promise<object> {
    const page = (query: object) => validationResults.page(this.token, query)
    return {
      file: await new Response(await submissions.getFile(this.token, 'people')).text(),
      summary: await submissions.summary(this.token),
      page: await page({ page: 7, pageSize: 100 }),
      ofStudent: await page({ studentId: '25' }),
      ofType: await page({ errorType: 'Error', page: 3 }),
    }
  }

  async status(): Promise<unknown> {
    return ((await this.mahi.runJson(['status'])) as { encryption: unknown }).encryption
  }

  async examine(keys: string): Promise<unknown> {
    const { stdout } = await this.mahi.run(['doctor', '--json'], { environment: this.environment(keys) })
    const { findings } = JSON.parse(stdout) as { findings: { name: string }[] }
    return findings.find(({ name }) => name === 'ENCRYPTION_KEYS')
  }

  /** Counts the blocks of findings and the chunks that are encrypted with a key. */
  async countWith(key: string): Promise<{ blocks: number; chunks: number }> {
    const sealer = new Sealer(readSealKeys(key))
    return await withDatabase(this.mahi.databaseUrl, async (database) => {
      const blocks = await database.all<{ content: Uint8Array }>('select content from result_block')
      const chunks = await database.all<{ data: Uint8Array }>('select data from file_chunk')
      return {
        blocks: blocks.filter(({ content }) => sealer.isCurrent(content)).length,
        chunks: chunks.filter(({ data }) => sealer.isCurrent(data)).length,
      }
    })
  }
}

test(
  'a new key replaces the old one while the service runs, also if the command is killed',
  LONG,
  async () => {
    const { place, client } = await Place.create(K1)
    const before = await place.read(client)
    expect(before).toMatchObject({ ofStudent: { totalCount: 1 }, ofType: { totalCount: FINDINGS } })
    expect(await place.status()).toEqual([{ id: 'k1', count: 2 }])
    const both = `${K2},${K1}`
    const serving = await place.serve(both)
    expect(await place.examine(both)).toMatchObject({
      state: 'warning',
      message:
        '2 files or runs are encrypted with another key or not at all: run "mahi submissions reencrypt".',
    })

    const options = { environment: place.environment(both) }
    const killed = place.mahi.start(COMMAND, options)
    await until(async () => ((await place.countWith(K2)).blocks > 0 ? true : undefined))
    killed.kill('SIGKILL')
    await killed.ended
    expect((await place.countWith(K2)).blocks).toBeLessThan(BLOCKS)
    expect(await place.status()).toEqual([
      { id: 'k1', count: 1 },
      { id: 'k2', count: 1 },
    ])
    expect(await place.read(serving)).toEqual(before)

    let ended = false
    const running = place.mahi.runJson(COMMAND, options).finally(() => {
      ended = true
    })
    while (!ended) {
      expect(await place.read(serving)).toEqual(before)
      await sleep(200)
    }
    expect(await running).toEqual({ key: 'k2', files: 0, runs: 1, left: 0 })
    expect(await place.status()).toEqual([{ id: 'k2', count: 2 }])
    expect(await place.countWith(K2)).toEqual({ blocks: BLOCKS, chunks: 2 })

    // Without the old key, everything can be read, changed and compared.
    const alone = await place.serve(K2)
    expect(await place.examine(K2)).toMatchObject({ state: 'good' })
    expect(await place.read(alone)).toEqual(before)
    const deleted = ['added', `${NAME}-77`, 'unknown'].map((localId) => ({ localId }))
    const { content } = await alone.submissions.deleteRecords(place.token, 'people', deleted)
    expect(content?.map(({ errors }) => errors?.length)).toEqual([0, 0, 1])
    expect((await alone.submissions.get(place.token)).files).toMatchObject([{ records: FINDINGS - 1 }])
    await place.validate(alone, K2)
    expect(await alone.submissions.changes(place.token, { from: 1, pageSize: 1 })).toMatchObject({
      newCount: 0,
      fixedCount: 1,
      openCount: FINDINGS - 1,
    })
    // With only the old key, nothing can.
    expect(await place.examine(K1)).toMatchObject({ state: 'bad', message: expect.stringContaining('"k2"') })
  },
)

test('what was stored without a key is encrypted while it is read', LONG, async () => {
  const { place, client } = await Place.create()
  const before = await place.read(client)
  expect(await place.status()).toEqual([{ id: null, count: 2 }])
  const { code, stderr } = await place.mahi.run(COMMAND)
  expect([code, stderr]).toEqual([1, 'ENCRYPTION_KEYS has no key. Set it as for the service\n'])
  const serving = await place.serve(K1)
  let ended = false
  const running = place.mahi.runJson(COMMAND, { environment: place.environment(K1) }).finally(() => {
    ended = true
  })
  while (!ended) {
    expect(await place.read(serving)).toEqual(before)
    await sleep(200)
  }
  expect(await running).toEqual({ key: 'k1', files: 1, runs: 1, left: 0 })
  expect(await place.read(serving)).toEqual(before)
  expect(await place.countWith(K1)).toEqual({ blocks: BLOCKS, chunks: 2 })
  await withDatabase(place.mahi.databaseUrl, async (database) => {
    const postings = await database.all<{ value: string }>(
      `select value from result_posting where field = 'studentId'`,
    )
    expect(postings.filter(({ value }) => value.length < 22)).toEqual([])
    for (const { name } of await database.all<{ name: string }>(database.dialect.tables))
      expect(JSON.stringify(await database.all(`select * from ${name}`)), name).not.toContain(NAME)
  })
})
