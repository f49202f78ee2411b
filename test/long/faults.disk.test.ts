import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { ask, DEADLINE, Installation, toLines, until } from '../support/command.ts'
import { canPlaceDatabase, placeDatabase } from '../support/database-on-disk.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'
import { hasSmallDisk, SmallDisk } from '../support/small-disk.ts'
import { readState } from '../support/state.ts'
import { engine } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const NO_DISK = 'a disk that is full or read-only: making one takes root, mkfs.ext4 and a loop device'
const testSqlite = testWhere(
  hasSmallDisk && engine === 'sqlite',
  engine === 'sqlite' ? NO_DISK : 'on PostgreSQL: its files',
)
const testBoth = testWhere(canPlaceDatabase, NO_DISK)

const NO_ROOM =
  /has no (?:disk space left|space left on its disk.*)\. Nothing was changed\. Free some space and run the command again\n$/
const IMPORT = ['occupations', 'import', '--replace', 'big.ndjson']

describe('a full disk', () => {
  testSqlite(
    'for the database: a server starts after a crash, and after a stop reports what is missing',
    async () => {
      const disk = SmallDisk.create(32)
      const mahi = new Installation({ inProcesses: true })
      const environment = { DATABASE_URL: await placeDatabase(disk) }
      await fillDatabase(environment.DATABASE_URL)
      const first = await mahi.serve(environment)
      disk.fill()
      first.command.kill('SIGKILL')
      await first.command.ended
      const second = await mahi.serve(environment)
      expect((await ask(`${second.url}/readyz`)).status).toBe(200)
      const key = await mahi.run(['keys', 'create', '--client', 'a'], { environment })
      expect([key.code, key.stderr]).toEqual([1, expect.stringMatching(NO_ROOM)])
      disk.empty()
      expect(await second.command.stop()).toBe(0)

      disk.fill()
      const third = await mahi.run(['serve'], { environment })
      expect([third.code, third.stderr]).toEqual([
        1,
        `${disk.folder}/mahi.db cannot be opened: its disk is full. Free some space and start again\n`,
      ])
      disk.empty()
      const fourth = await mahi.serve(environment)
      expect((await ask(`${fourth.url}/readyz`)).status).toBe(200)
    },
  )

  testSqlite('for temporary files: an import says so, and changes nothing', async () => {
    const disk = SmallDisk.create(8)
    const mahi = new Installation({ inProcesses: true })
    const long = 'A sentence. '.repeat(1000).trim()
    // More than is kept in memory before it goes to a temporary file.
    const records = Array.from({ length: 4000 }, (_, index) => ({
      occupationCode: `X${index}`,
      descriptionEnglish: long,
    }))
    mahi.write('big.ndjson', toLines(records))
    disk.fill()
    const environment = { SQLITE_TMPDIR: disk.folder }
    const { code, stderr } = await mahi.run(IMPORT, { environment })
    expect([code, stderr]).toEqual([1, expect.stringMatching(NO_ROOM)])
    expect(stderr).toContain('SQLITE_TMPDIR')
    expect(await mahi.catalogue()).toBe('')
    expect(readdirSync(disk.folder).sort()).toEqual(['filler', 'lost+found'])
  })

  testSqlite('for an export or a mirror: the old file stays, and no other file is left', async () => {
    const disk = SmallDisk.create(8)
    const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'OLD' }])
    const { url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public', ...UNLIMITED })
    const exported = join(disk.folder, 'catalogue.ndjson')
    const copy = join(disk.folder, 'copy')
    const commands = [
      ['occupations', 'export', '--output', exported],
      ['mirror', url, copy],
    ]
    const read = () => [exported, join(copy, 'occupations.ndjson')].map((file) => readFileSync(file, 'utf8'))
    for (const command of commands) expect(await mahi.run(command)).toMatchObject({ code: 0 })
    const old = read()
    expect(old).toEqual([await mahi.catalogue(), await mahi.catalogue()])
    const titleEnglish = 'x'.repeat(500)
    await mahi.fill(
      Array.from({ length: 500 }, (_, index) => ({ occupationCode: `A${index}`, titleEnglish })),
    )
    await until(async () => (await (await ask(`${url}/v1/occupations`)).text()).includes('"totalCount":501'))
    for (const left of [0, 50_000]) {
      disk.fill(left)
      for (const command of commands) {
        const { code, stderr } = await mahi.run(command)
        expect([code, stderr]).toEqual([1, expect.stringMatching(/ cannot be written: the disk is full\. /)])
      }
      expect(read()).toEqual(old)
      disk.empty()
    }
    for (const command of commands) expect(await mahi.run(command)).toMatchObject({ code: 0 })
    expect(read()).toEqual([await mahi.catalogue(), await mahi.catalogue()])
    expect(readdirSync(copy).sort()).toEqual(['mirror.json', 'mirror.lock', 'occupations.ndjson'])
    expect(readdirSync(disk.folder).sort()).toEqual(['catalogue.ndjson', 'copy', 'lost+found'])
  })
})

describe('a full disk for submissions', () => {
  const NAME = 'Kereru7391'
  const PEOPLE = { before: makePeople(NAME, 200, 100), after: makePeople(NAME, 300, 200) }

  /** Short enough to compare: the difference of two long texts takes minutes to print. */
  const describeContent = (content: { csv: string; findings: readonly string[] }) => ({
    bytes: content.csv.length,
    findings: content.findings.length,
    sha256: createHash('sha256')
      .update(JSON.stringify([content.csv, content.findings]))
      .digest('hex'),
  })

  /** A service, a worker and a submission with findings. */
  async function start() {
    const disk = SmallDisk.create(64)
    const url = await placeDatabase(disk)
    const mahi = new Installation({ inProcesses: true })
    const environment = {
      DEFINITIONS: makeSmallDefinition(),
      RATE_LIMIT_SUBMISSIONS: 'off',
      ...UNLIMITED,
      DATABASE_URL: url,
    }
    const scopes = ['validation-results:read', 'submissions:write'] as const
    const { key } = await withDatabase(url, (database) =>
      createKey(database, { client: 'a', scopes, eids: ['1001'], expires: Date.now() + 86_400_000 }),
    )
    const server = await mahi.serve(environment)
    const headers = { 'x-api-key': key, eid: '1001' }
    const { submissions } = createClient({
      baseUrl: server.url,
      apiKey: key,
      eid: '1001',
      deadline: DEADLINE,
    })
    const { submissionToken: token = '' } = await submissions.create({ returnId: '202512' })
    const work = () => mahi.start(['work'], { environment })
    /** Uploads a file while a worker runs that reads it, and returns the number of its records. */
    const put = async (csv: string) => {
      const worker = work()
      const { records } = await submissions.putFile(token, 'people', csv)
      await worker.stop()
      return records
    }
    await put(PEOPLE.before.csv)
    const at = `${server.url}/v1/submissions/${token}`
    /** Exports the file and the findings, completely. */
    const read = async () => {
      const file = await (await ask(`${at}/files/people`, headers)).text()
      const results = await ask(`${at}/validation-results`, { ...headers, accept: 'application/x-ndjson' })
      const findings = (await results.text()).split('\n').filter((line) => line !== '')
      expect(results.headers.get('total-count')).toBe(String(findings.length))
      const localIds = findings.map((line) => (JSON.parse(line) as { localId: string }).localId)
      return describeContent({ csv: file, findings: localIds })
    }
    const validate = async () => {
      const { runId = 0 } = await submissions.validate(token)
      return await submissions.waitForRun(token, runId)
    }
    const worker = work()
    expect(await validate()).toMatchObject({ status: 'Processed' })
    await worker.stop()
    expect(await read()).toEqual(describeContent(PEOPLE.before))
    return { disk, url, server, headers, submissions, token, at, read, work, put, validate }
  }

  testSqlite(
    'an upload that fills the disk leaves room for others, without a restart, and one line in the log',
    async () => {
      const { disk, url, server, headers, submissions, at, read, put } = await start()
      const before = await read()
      const versions = () =>
        withDatabase(url, (database) => database.all('select version from file_version order by version'))
      const known = await versions()
      const noise = randomBytes(60_000_000).toString('base64')
      for (let round = 0; round < 3; round++) {
        const refused = await fetch(`${at}/files/people`, {
          method: 'PUT',
          headers: { ...headers, 'content-type': 'text/csv' },
          body: `localId,id\n${round},${noise}\n`,
        })
        expect([refused.status, (await refused.json()).detail]).toEqual([
          503,
          'The service has no disk space left. Nothing was changed.',
        ])
        expect(await versions()).toEqual(known)
        expect(await read()).toEqual(before)
        // Changes that need little room still find it.
        expect((await submissions.create({ returnId: `20240${round + 1}` })).submissionToken).toBeDefined()
      }
      expect(await put(PEOPLE.after.csv)).toBe(300)
      expect(server.command.stdout.match(/"level":"error"/g) ?? []).toHaveLength(1)
      disk.empty()
    },
  )

  testBoth('a run stores nothing, exports are complete, and with room everything works again', async () => {
    const { disk, server, submissions, token, read, work, put, validate } = await start()
    // A file that the disk has room for, with more findings than it has room for.
    const large = makePeople(NAME, 60_000, 60_000)
    await put(large.csv)
    const { runId = 0 } = await submissions.validate(token)
    disk.fill(2_000_000)
    const worker = work()
    await worker.output(/"msg":"the job failed"/)
    expect(await read()).toEqual(describeContent({ ...PEOPLE.before, csv: large.csv }))

    disk.empty()
    // The run is tried again three times, and may have ended before there was room.
    const run = await submissions.waitForRun(token, runId)
    if (run.status !== 'Processed') {
      expect(run).toMatchObject({ status: 'UnknownError', reason: expect.stringContaining('operator') })
      expect(await validate()).toMatchObject({ status: 'Processed' })
    }
    expect(await read()).toEqual(describeContent(large))
    expect(await submissions.putFile(token, 'people', PEOPLE.after.csv)).toMatchObject({ records: 300 })
    expect(await validate()).toMatchObject({ status: 'Processed', errorCount: 200 })
    expect(await read()).toEqual(describeContent(PEOPLE.after))
    expect(worker.stdout).toMatch(/no (?:disk space|space) left/)
    worker.kill('SIGTERM')
    server.command.kill('SIGTERM')
    for (const { command } of [{ command: worker }, server]) {
      const { code, stdout, stderr } = await command.ended
      expect([code, (stdout + stderr).includes(NAME)]).toEqual([0, false])
    }
  })
})

testSqlite(
  'a read-only disk: every write reports it, and works once the disk is writable again',
  async () => {
    const disk = SmallDisk.create(32)
    const mahi = new Installation({ inProcesses: true })
    const environment = { DATABASE_URL: `sqlite:${disk.folder}/mahi.db` }
    await fillDatabase(environment.DATABASE_URL)
    const before = await withDatabase(environment.DATABASE_URL, readState)
    const { url } = await (
      await new Installation({ inProcesses: true }).fill([{ occupationCode: 'A' }])
    ).serve({
      OCCUPATIONS_ACCESS: 'public',
    })
    const other = { DATABASE_URL: (await new Installation({ inProcesses: true }).migrate()).databaseUrl }
    const create = ['keys', 'create', '--client', 'a']
    disk.setReadOnly(true)
    for (const [command, file, given] of [
      [create, 'mahi.db', environment],
      [['migrate'], 'mahi.db', environment],
      [['serve'], 'mahi.db', environment],
      [['migrate'], 'new.db', { DATABASE_URL: `sqlite:${disk.folder}/new.db` }],
      [['occupations', 'export', '--output', `${disk.folder}/out.ndjson`], 'out.ndjson', other],
      [['mirror', url, `${disk.folder}/copy`], 'copy', environment],
    ] as const) {
      const stderr = `${disk.folder}/${file} cannot be written: its file system is read-only\n`
      expect(await mahi.run(command, { environment: given })).toMatchObject({ code: 1, stdout: '', stderr })
    }
    disk.setReadOnly(false)
    expect(await withDatabase(environment.DATABASE_URL, readState)).toEqual(before)
    expect(await mahi.run(create, { environment })).toMatchObject({ code: 0 })
  },
)
