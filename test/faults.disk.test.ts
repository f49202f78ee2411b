import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { Cluster, hasCluster } from './support/cluster.ts'
import { ask, Installation, toLines } from './support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from './support/filled-database.ts'
import { hasSmallDisk, SmallDisk } from './support/small-disk.ts'
import { readState } from './support/state.ts'
import { engine } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

const NO_DISK = 'a disk that is full or read-only: making one takes root, mkfs.ext4 and a loop device'
const testSqlite = testWhere(
  hasSmallDisk && engine === 'sqlite',
  engine === 'sqlite' ? NO_DISK : 'on PostgreSQL: its files',
)
const testBoth = testWhere(hasSmallDisk && (engine === 'sqlite' || hasCluster), NO_DISK)

const NO_ROOM = /has no room left on its disk.*: nothing was changed; free some and run the command again\n$/
const IMPORT = ['occupations', 'import', '--replace', 'big.ndjson']
const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1', 'big-run.ndjson']

/** An installation with input that takes some megabytes. */
function installWithInput(): Installation {
  const mahi = new Installation()
  const [records, entries] = ['occupationCode', 'localId'].map((name) =>
    Array.from({ length: 3000 }, (_, index) => ({
      [name]: `X${index}`,
      [name === 'localId' ? 'recordText' : 'descriptionEnglish']: `${index} `.repeat(400).slice(0, 1999),
    })),
  )
  mahi.write('big.ndjson', toLines(records ?? []))
  mahi.write('big-run.ndjson', toLines(entries ?? []))
  return mahi
}

/** Where the database is: a file on the disk, or a PostgreSQL that keeps its tables there. */
async function placeDatabase(disk: SmallDisk): Promise<string> {
  if (engine === 'sqlite') return `sqlite:${disk.folder}/mahi.db`
  const cluster = await Cluster.start()
  // Before the disk goes.
  onTestFinished(() => cluster.remove())
  const location = join(disk.folder, 'tables')
  execFileSync('install', ['-d', '-o', 'postgres', location])
  await cluster.query(`create tablespace small location '${location}'`)
  await cluster.query('create database mahi tablespace small')
  return cluster.url('mahi')
}

describe('a disk without room', () => {
  testBoth(
    'for the database: commands say so, the old state is served, and with room they work again',
    { timeout: 120_000 },
    async () => {
      const disk = SmallDisk.create(48)
      const url = await placeDatabase(disk)
      const mahi = installWithInput()
      const environment = { DATABASE_URL: url }
      const { headers, questions } = await fillDatabase(url)
      const before = await withDatabase(url, readState)
      const server = await mahi.serve({ ...environment, ...UNLIMITED, LOG_LEVEL: 'info', PAGE_CACHE_MB: '0' })
      const answers = async () =>
        await Promise.all(
          questions.map(async ({ path }) => {
            const response = await ask(server.url + path, { ...headers })
            return [response.status, await response.text()]
          }),
        )
      const answered = await answers()
      expect(answered.map(([status]) => status)).toEqual(questions.map(() => 200))

      for (const left of [2_000_000, 0]) {
        disk.fill(left)
        for (const command of [IMPORT, PUBLISH]) {
          const { code, stdout, stderr } = await mahi.run(command, { environment })
          expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(NO_ROOM)])
        }
        expect(await answers()).toEqual(answered)
        expect((await ask(`${server.url}/readyz`)).status).toBe(200)
        const now = await withDatabase(url, readState)
        expect({ ...now, revisions: now.revisions.catalogue }).toEqual({
          ...before,
          revisions: before.revisions.catalogue,
        })
        disk.empty()
      }

      expect(await mahi.run(IMPORT, { environment })).toMatchObject({ code: 0 })
      expect(await mahi.run(PUBLISH, { environment })).toMatchObject({ code: 0 })
      const after = await withDatabase(url, readState)
      expect([after.catalogue.size, after.submissions.size]).toEqual([3000, 2])
      server.command.kill('SIGTERM')
      expect(await server.command.ended).toMatchObject({ code: 0 })
    },
  )

  testSqlite(
    'for the database: a server starts after a crash, and after a stop says what it lacks',
    async () => {
      const disk = SmallDisk.create(32)
      const mahi = new Installation()
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
      second.command.kill('SIGTERM')
      expect(await second.command.ended).toMatchObject({ code: 0 })

      disk.fill()
      const third = await mahi.run(['serve'], { environment })
      expect([third.code, third.stderr]).toEqual([
        1,
        `${disk.folder}/mahi.db can't be opened: there is no room left on its disk; free some and start again\n`,
      ])
      disk.empty()
      const fourth = await mahi.serve(environment)
      expect((await ask(`${fourth.url}/readyz`)).status).toBe(200)
    },
  )

  testSqlite('for temporary files: an import says so, and changes nothing', async () => {
    const disk = SmallDisk.create(8)
    const mahi = new Installation()
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

  testSqlite('for an export: the old file stays, and nothing lies beside it', async () => {
    const disk = SmallDisk.create(8)
    const mahi = await new Installation().fill(
      Array.from({ length: 500 }, (_, index) => ({
        occupationCode: `A${index}`,
        titleEnglish: 'x'.repeat(500),
      })),
    )
    const file = join(disk.folder, 'catalogue.ndjson')
    const write = () => mahi.run(['occupations', 'export', '--output', file])
    expect(await write()).toMatchObject({ code: 0 })
    const old = readFileSync(file, 'utf8')
    expect(old).toBe(await mahi.catalogue())
    await mahi.fill([{ occupationCode: 'B', titleEnglish: 'new' }])
    for (const left of [0, 50_000]) {
      disk.fill(left)
      const { code, stderr } = await write()
      expect([code, stderr]).toEqual([
        1,
        `${file} cannot be written: the disk is full. Free some space and run the command again\n`,
      ])
      expect(readFileSync(file, 'utf8')).toBe(old)
      expect(existsSync(`${file}.new`)).toBe(false)
      disk.empty()
    }
    expect(await write()).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toBe(await mahi.catalogue())
  })

  testSqlite('for a mirror: the old copy stays', async () => {
    const disk = SmallDisk.create(8)
    const mahi = await new Installation().fill([{ occupationCode: 'OLD' }])
    const { url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public', ...UNLIMITED })
    const folder = join(disk.folder, 'copy')
    const copy = () => readFileSync(join(folder, 'occupations.ndjson'), 'utf8')
    expect(await mahi.run(['mirror', url, folder])).toMatchObject({ code: 0 })
    const old = copy()
    await mahi.fill(
      Array.from({ length: 500 }, (_, index) => ({
        occupationCode: `A${index}`,
        titleEnglish: 'x'.repeat(500),
      })),
    )
    await expect
      .poll(async () => (await (await ask(`${url}/v1/occupations`)).text()).includes('"totalCount":501'))
      .toBe(true)
    for (const left of [0, 50_000, 300_000]) {
      disk.fill(left)
      const { code, stdout, stderr } = await mahi.run(['mirror', url, folder])
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(
        /\/copy(?:\/\S+)? cannot be written: the disk is full. Free some space and run the command again\n/,
      )
      expect(copy()).toBe(old)
      disk.empty()
    }
    expect(await mahi.run(['mirror', url, folder])).toMatchObject({ code: 0 })
    expect(copy()).toBe(await mahi.catalogue())
    expect(readdirSync(folder).sort()).toEqual(['mirror.json', 'occupations.ndjson'])
  })
})

testSqlite(
  'a read-only disk: everything that would write says so, and works when it may be written again',
  async () => {
    const disk = SmallDisk.create(16)
    const mahi = installWithInput()
    const environment = { DATABASE_URL: `sqlite:${disk.folder}/mahi.db` }
    await fillDatabase(environment.DATABASE_URL)
    const before = await withDatabase(environment.DATABASE_URL, readState)
    const { url } = await (await new Installation().fill([{ occupationCode: 'A' }])).serve({
      OCCUPATIONS_ACCESS: 'public',
    })
    const complain = async (parameters: readonly string[], given: Record<string, string> = environment) => {
      const { code, stdout, stderr } = await mahi.run(parameters, { environment: given })
      expect([code, stdout]).toEqual([1, ''])
      return stderr.replaceAll(disk.folder, 'DISK')
    }
    disk.setReadOnly(true)
    for (const command of [IMPORT, PUBLISH, ['keys', 'create', '--client', 'a'], ['migrate'], ['serve']])
      expect(await complain(command)).toBe('DISK/mahi.db cannot be written: its file system is read-only\n')
    expect(await complain(['migrate'], { DATABASE_URL: `sqlite:${disk.folder}/new.db` })).toBe(
      'DISK/new.db cannot be written: its file system is read-only\n',
    )
    expect(await complain(['migrate'], { DATABASE_URL: `sqlite:${disk.folder}/new/new.db` })).toBe(
      "DISK/new/new.db can't be opened: its folder can't be made\n",
    )
    expect(await complain(['occupations', 'export', '--output', `${disk.folder}/out.ndjson`], {})).toBe(
      'DISK/out.ndjson cannot be written: its file system is read-only\n',
    )
    expect(await complain(['mirror', url, `${disk.folder}/copy`])).toBe(
      'DISK/copy cannot be written: its folder does not exist and cannot be created\n',
    )
    expect(await complain(['mirror', url, disk.folder])).toBe(
      'DISK cannot be written: its file system is read-only\n',
    )
    disk.setReadOnly(false)
    expect(await withDatabase(environment.DATABASE_URL, readState)).toEqual(before)
    expect(await mahi.run(IMPORT, { environment })).toMatchObject({ code: 0 })
  },
)
