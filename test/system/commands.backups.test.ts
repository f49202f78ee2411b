import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { restore } from '../../src/operate/restore.ts'
import { Installation, until } from '../support/command.ts'
import { canPlaceDatabase, placeDatabase } from '../support/database-on-disk.ts'
import { alerts } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { serveWithMetrics } from '../support/runbook.ts'
import { sourceOf } from '../support/service.ts'
import { hasSmallDisk, SmallDisk } from '../support/small-disk.ts'
import { engine, temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const DAY = 86_400_000

/** The seconds that an alert compares a metric with. */
function limitOf(alert: string): number {
  const [, hours] = / > (\d+) \* 3600$/.exec(alerts.find((each) => each.alert === alert)?.expr ?? '') ?? []
  return Number(hours) * 3600
}

describe('the age of the newest backup', () => {
  test('is a metric, from the creation of the database on, and mahi status shows it', async () => {
    const mahi = await new Installation().migrate()
    const { read } = await serveWithMetrics(mahi)
    const unprotected = await read('mahi_backup_age_seconds')
    expect(unprotected).toBeGreaterThanOrEqual(0)
    expect(unprotected).toBeLessThan(3600)
    expect((await mahi.run(['status'])).stdout).toMatch(/^Backup +none recorded/m)
    await withDatabase(mahi.databaseUrl, (database) =>
      database.write('schema', (writer) =>
        writer.run('update migration set applied = applied - $1', [9 * DAY]),
      ),
    )
    await until(async () => ((await read('mahi_backup_age_seconds')) > 8 * 86_400 ? true : undefined))

    await mahi.runJson(['backup', join(temporaryFolder(), 'mahi.backup')])
    await until(async () =>
      (await read('mahi_backup_age_seconds')) < limitOf('MahiBackupOld') ? true : undefined,
    )
    expect((await mahi.run(['status'])).stdout).toMatch(/^Backup +\d{4}-\S+, [\d.]+ MiB, by mahi$/m)
    // Another program that makes backups records them.
    await mahi.runJson(['backup', '--made-by', 'pgbackrest'])
    const { backups } = (await mahi.runJson(['status'])) as { backups: { program: string }[] }
    expect(backups.map(({ program }) => program)).toEqual(['pgbackrest', 'mahi'])
    const both = await mahi.run(['backup', 'file', '--made-by', 'x'])
    expect([both.code, both.stderr]).toEqual([
      1,
      expect.stringContaining('give the file of the backup, or --made-by'),
    ])
  })
})

/** A backup in a folder, of a database that was changed since. */
async function makeBackup(environment: Record<string, string> = {}) {
  const mahi = new Installation()
  const { headers } = await fillDatabase(mahi.databaseUrl)
  const folder = temporaryFolder()
  const file = join(folder, 'mahi.backup')
  if (environment.ENCRYPTION_KEYS !== undefined)
    await mahi.runJson(['results', 'publish', '--eid', '1001', '--return', 'R1', '-'], {
      input: '{"localId":"a"}\n',
      environment,
    })
  await mahi.runJson(['backup', file], { environment })
  await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n', environment })
  return { mahi, headers, file, folder }
}

/** Everything but when the keys were used. */
async function readContent(database: Database) {
  // Findings may be encrypted.
  return {
    records: await database.all('select code, document from occupation order by code'),
    submissions: await database.all('select token, eid, run, total from submission order by token'),
    keys: await database.all('select id, revoked from api_key order by id'),
    revisions: await database.all('select name, number from revision order by name'),
    entries: await database.get('select count(*) as count from result_block'),
  }
}

const UNCHANGED = /Nothing was changed: nothing was restored, and the service can continue\.\n$/

describe('a backup that cannot be restored ends in a sentence, and the service is as it was', () => {
  /** Tries to restore a file while a service runs. */
  async function refuse(
    { mahi, headers }: Pick<Awaited<ReturnType<typeof makeBackup>>, 'mahi' | 'headers'>,
    file: string,
    says: RegExp,
    {
      service = {},
      command = service,
    }: { service?: Record<string, string>; command?: Record<string, string> } = {},
  ) {
    const before = await withDatabase(mahi.databaseUrl, readContent)
    const { url, command: server } = await mahi.serve(service)
    const { code, stderr } = await mahi.run(['restore', '--replace', file], { environment: command })
    expect([code, stderr]).toEqual([1, expect.stringMatching(says)])
    expect(stderr).toMatch(UNCHANGED)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect((await ask(`${url}/v1/occupations/LATER`, headers)).status).toBe(200)
    server.kill('SIGTERM')
    await server.ended
    expect(await withDatabase(mahi.databaseUrl, readContent)).toEqual(before)
  }

  test('because a newer version made it', async () => {
    const made = await makeBackup()
    const newer = new Installation()
    await newer.migrate()
    await withDatabase(newer.databaseUrl, (database) =>
      database.write('schema', (writer) =>
        writer.run(`insert into migration (name, applied) values ('9999-later', 0)`),
      ),
    )
    const file = join(made.folder, 'newer.backup')
    await newer.runJson(['backup', file])
    await refuse(
      made,
      file,
      /newer\.backup was made by a newer version of Mahi \(9999-later\): restore it with that version\. /,
    )
  })

  test('because it is of the other engine', async () => {
    const made = await makeBackup()
    const file = join(made.folder, 'other')
    writeFileSync(file, engine === 'sqlite' ? 'PGDMP\x01\x0e' : 'SQLite format 3\0')
    await refuse(
      made,
      file,
      /other is a backup of (PostgreSQL|SQLite), and DATABASE_URL names (a SQLite file|PostgreSQL): restore it to \1, then use "mahi copy"\. /,
    )
  })

  test('because it is cut off', async () => {
    const made = await makeBackup()
    const file = join(made.folder, 'cut.backup')
    writeFileSync(file, readFileSync(made.file).subarray(0, statSync(made.file).size / 2))
    await refuse(
      made,
      file,
      /(?:cut\.backup is damaged, or is not a backup of Mahi|pg_restore failed: .* The file may be damaged): use another backup, or copy this one again\. /,
    )
    // However little is missing.
    for (const missing of [1, 100, 16_384]) {
      writeFileSync(file, readFileSync(made.file).subarray(0, -missing))
      const restored = restore(made.mahi.databaseUrl, file, { replace: true, prepare: async () => undefined })
      await expect(restored, `${missing}`).rejects.toThrow(/use another backup/)
    }
    const later = `select code from occupation where code = 'LATER'`
    expect(await withDatabase(made.mahi.databaseUrl, (database) => database.all(later))).toHaveLength(1)
  })

  test('because its data is encrypted with another key', async () => {
    const key = (byte: number) => `k1:${Buffer.alloc(32, byte).toString('base64')}`
    const service = { ENCRYPTION_KEYS: key(1) }
    const made = await makeBackup(service)
    await refuse(
      made,
      made.file,
      /the key "k1" in ENCRYPTION_KEYS is not the key of this name.* Set the original key/,
      {
        service,
        command: { ENCRYPTION_KEYS: key(2) },
      },
    )
    const [, other = ''] = key(2).split(':')
    await refuse(
      made,
      made.file,
      /data is encrypted with the key "k1", which ENCRYPTION_KEYS does not have\. Add it; /,
      {
        service,
        command: { ENCRYPTION_KEYS: `k2:${other}` },
      },
    )
    await refuse(made, made.file, /ENCRYPTION_KEYS is not set\. Set it/, { service, command: {} })
  })
})

test.each(['cut off', 'another one'])(
  'a backup that is replaced while it is restored (%s) changes nothing',
  async (by) => {
    const { mahi, file } = await makeBackup()
    const other = `${file}.other`
    if (by === 'cut off') writeFileSync(other, readFileSync(file).subarray(0, statSync(file).size / 2))
    else await mahi.runJson(['backup', other])
    const before = await withDatabase(mahi.databaseUrl, readContent)
    const restored = restore(mahi.databaseUrl, file, { replace: true, prepare: async () => undefined })
    // It has been opened, and the database has not.
    renameSync(other, file)
    await expect(restored).rejects.toThrow(
      new RegExp(
        `mahi\\.backup was replaced while it was read: .*restore it again\\. ${UNCHANGED.source.replace('\\n', '')}`,
      ),
    )
    expect(await withDatabase(mahi.databaseUrl, readContent)).toEqual(before)
  },
)

/** A database that is larger than SQLite's cache for a file, and a backup of it that was made before a change. */
async function makeLargeBackup(url: string) {
  const mahi = new Installation()
  const environment = { DATABASE_URL: url }
  const records = Array.from({ length: 6000 }, (_, index) => ({
    occupationCode: `X${index}`,
    descriptionEnglish: randomBytes(3000).toString('hex'),
  }))
  const { headers } = await fillDatabase(url)
  await withDatabase(url, (database) => importOccupations(database, sourceOf(records)))
  const file = join(temporaryFolder(), 'mahi.backup')
  await mahi.runJson(['backup', file], { environment })
  await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n', environment })
  const { url: at } = await mahi.serve({ ...environment, PAGE_CACHE_MB: '0' })
  const isLater = async () => (await ask(`${at}/v1/occupations/LATER`, headers)).status === 200
  return { mahi, environment, file, isLater }
}

test.runIf(engine === 'postgres')(
  'a restore that is killed while it waits for the switch changes nothing, and the next one restores',
  async () => {
    const { mahi, headers, file } = await makeBackup()
    const { url } = await mahi.serve({ PAGE_CACHE_MB: '0' })
    const isLater = async () => (await ask(`${url}/v1/occupations/LATER`, headers)).status === 200
    const before = await withDatabase(mahi.databaseUrl, readContent)
    await withDatabase(mahi.databaseUrl, async (database) => {
      // Its lock is compatible with that of readers.
      await database.write('keys', async (writer) => {
        await writer.all('select count(*) from occupation')
        const { child, ended } = mahi.start(['restore', '--replace', file])
        const waiting = `select 1 as found from pg_stat_activity
          where query like 'lock table %' and wait_event_type = 'Lock' and datname = current_database()`
        await until(async () => ((await database.get(waiting)) === undefined ? undefined : true))
        child.kill('SIGKILL')
        expect((await ended).signal).toBe('SIGKILL')
      })
    })
    expect(await isLater()).toBe(true)
    expect(await withDatabase(mahi.databaseUrl, readContent)).toEqual(before)
    await mahi.runJson(['restore', '--replace', file])
    await until(async () => ((await isLater()) ? undefined : true))
    await withDatabase(mahi.databaseUrl, async (database) => {
      expect(
        await database.all(`select 1 from pg_namespace where nspname = current_schema() || '_restore'`),
      ).toEqual([])
    })
  },
)

const NO_DISK = 'a full disk: making one takes root, mkfs.ext4 and a loop device'
const testDisk = testWhere(canPlaceDatabase, NO_DISK)

testDisk(
  'an archive without room: no backup is written, earlier ones stay, and a restore changes nothing',
  async () => {
    const disk = SmallDisk.create(48)
    const mahi = new Installation()
    const environment = { DATABASE_URL: await placeDatabase(disk) }
    const records = Array.from({ length: 3000 }, (_, index) => ({
      occupationCode: `X${index}`,
      descriptionEnglish: randomBytes(999).toString('hex'),
    }))
    const { headers } = await fillDatabase(environment.DATABASE_URL)
    await withDatabase(environment.DATABASE_URL, (database) => importOccupations(database, sourceOf(records)))
    const { url } = await mahi.serve({ ...environment, PAGE_CACHE_MB: '0' })
    const read = async () => (await ask(`${url}/v1/occupations?Cursor=X7`, headers)).body
    const shown = await read()
    const whole = join(temporaryFolder(), 'mahi.backup')
    await mahi.runJson(['backup', whole], { environment })
    const folder = join(disk.folder, 'backups')
    mkdirSync(folder)
    writeFileSync(join(folder, 'mahi-20260101T000000Z.backup'), 'kept')
    const before = await withDatabase(environment.DATABASE_URL, readContent)
    // Enough to open the database, and less than a copy of it takes.
    disk.fill(2_500_000)
    const backup = await mahi.run(['backup', '--keep', '1', folder], { environment })
    expect([backup.code, backup.stderr]).toEqual([
      1,
      expect.stringMatching(
        /(?:cannot be written \(\w+\): make room for the file|pg_dump failed: .*No space left on device)\. No backup was written, and the service is unchanged\. The newest backup is of \S+, less than a day ago\. Correct this and run the command again\.\n$/,
      ),
    ])
    expect((await mahi.run(['status'], { environment })).stdout).toMatch(/^Backup .*; failed on \S+: /m)
    expect(readdirSync(folder)).toEqual(['mahi-20260101T000000Z.backup'])
    const restored = await mahi.run(['restore', '--replace', whole], { environment })
    expect([restored.code, restored.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^(?:\S+ cannot be written \(\w+\): make room for the file|psql failed: .*No space left on device\. Free some space on the server and run the command again)\. Nothing was changed/,
      ),
    ])
    expect(restored.stderr).toMatch(UNCHANGED)
    expect(await withDatabase(environment.DATABASE_URL, readContent)).toEqual(before)
    expect(await read()).toBe(shown)
    expect(readdirSync(disk.folder).filter((name) => name.includes('.restore'))).toEqual([])
    await withDatabase(environment.DATABASE_URL, async (database) => {
      if (engine === 'postgres')
        expect(await database.all(`select 1 from pg_namespace where nspname like '%restore'`)).toEqual([])
    })
  },
)

testWhere(
  hasSmallDisk && engine === 'sqlite',
  engine === 'sqlite' ? NO_DISK : 'on PostgreSQL: the switch takes no room',
)(
  'a disk that is full when a restore replaces the content: nothing is changed, and with room it works',
  async () => {
    const disk = SmallDisk.create(256)
    const url = `sqlite:${join(disk.folder, 'mahi.db')}`
    const { mahi, environment, file, isLater } = await makeLargeBackup(url)
    const before = await withDatabase(url, readContent)
    const { size } = statSync(file)
    const prepare = async () => {
      // The content is restored beside, and the switch takes as much again.
      disk.fill(size / 4)
    }
    await expect(restore(url, file, { replace: true, prepare })).rejects.toThrow(
      /mahi\.db cannot be written \(SQLITE_FULL\).*Nothing was changed: nothing was restored, and the service can continue\.$/,
    )
    expect(await isLater()).toBe(true)
    expect(await withDatabase(url, readContent)).toEqual(before)
    expect(readdirSync(disk.folder).filter((name) => name.includes('.restore'))).toEqual([])
    // The service can still write.
    expect((await mahi.run(['keys', 'create', '--client', 'a'], { environment })).code).toBe(0)
    disk.empty()
    await mahi.runJson(['restore', '--replace', file], { environment })
    expect(await isLater()).toBe(false)
  },
)

test('a restore keeps what is known of backups', async () => {
  const { mahi, file } = await makeBackup()
  const restored = await mahi.run(['restore', '--replace', file])
  expect([restored.code, restored.stderr]).toEqual([
    0,
    expect.stringMatching(
      /^Restored\. Changes since the backup are gone, also those that were made during the restore\. /,
    ),
  ])
  const again = await openDatabase(mahi.databaseUrl)
  onTestFinished(() => again.close())
  expect(await again.all('select program from backup where finished is not null')).toEqual([
    { program: 'mahi' },
  ])
})
