import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { backUpSeries, type SeriesBackup } from '../../src/operate/backup.ts'
import { Installation, until } from '../support/command.ts'
import { canPlaceDatabase, placeDatabase } from '../support/database-on-disk.ts'
import { alerts } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { serveWithMetrics } from '../support/runbook.ts'
import { sourceOf } from '../support/service.ts'
import { SmallDisk } from '../support/small-disk.ts'
import { describeTables, NOT_RESTORED } from '../support/state.ts'
import { engine, temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const DAY = 86_400_000

/** The seconds that an alert compares a metric with. */
function limitOf(alert: string): number {
  const [, hours] = / > (\d+) \* 3600$/.exec(alerts.find((each) => each.alert === alert)?.expr ?? '') ?? []
  return Number(hours) * 3600
}

describe.skipIf(engine !== 'sqlite')('backup', () => {
  test('writes everything into one file that only its owner can read, while others write', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const before = await describeTables(mahi.databaseUrl, NOT_RESTORED)
    const file = join(temporaryFolder(), 'mahi.backup')
    let backup: Promise<unknown> | undefined
    const changing = withDatabase(mahi.databaseUrl, (database) =>
      database.write('catalogue', async (writer) => {
        await writer.run(`update occupation set hash = 'changed'`)
        backup = mahi.runJson(['backup', file])
        // It waits for this change to be over only to record the backup.
        await until(() => existsSync(file) || undefined)
        throw new Error('not kept')
      }),
    )
    await expect(changing).rejects.toThrow('not kept')
    expect(await backup).toEqual({ file, bytes: statSync(file).size })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(file))).toEqual(['mahi.backup'])
    expect(await describeTables(`sqlite:${file}`, NOT_RESTORED)).toEqual(before)
  })

  test('that cannot be written says why, and leaves the database and earlier backups unchanged', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const before = await describeTables(mahi.databaseUrl, NOT_RESTORED)
    const folder = temporaryFolder()
    const earlier = join(folder, 'mahi.backup')
    await mahi.runJson(['backup', earlier])
    expect((await mahi.run(['backup', join(earlier, 'in', 'a', 'file')])).stderr).toMatch(
      /cannot be written|ENOTDIR/,
    )
    expect((await mahi.run(['backup', folder])).stderr).toContain(
      `${folder} is a folder. Name a file, such as ${folder}/mahi.backup, or keep several in it with --keep. No backup was written`,
    )
    expect((await mahi.run(['backup', join(folder, 'none', 'x')])).stderr).toContain(
      `cannot be written: the folder ${folder}/none does not exist. No backup was written`,
    )
    expect(readdirSync(folder)).toEqual(['mahi.backup'])
    expect(await describeTables(mahi.databaseUrl, NOT_RESTORED)).toEqual(before)
  })

  test('--keep keeps the newest of a series, and touches no other file', async () => {
    const mahi = await new Installation().migrate()
    const folder = join(temporaryFolder(), 'backups')
    const first = await backUpSeries(mahi.databaseUrl, folder, 2, new Date('2026-01-01T02:30:00.123Z'))
    expect(first).toMatchObject({ file: join(folder, 'mahi-20260101T023000Z.backup'), removed: [] })
    writeFileSync(join(folder, 'mahi-before-the-move.backup'), 'mine')
    await backUpSeries(mahi.databaseUrl, folder, 2, new Date('2026-01-02T02:30:00Z'))
    const { file, removed } = (await mahi.runJson(['backup', '--keep', '2', folder])) as SeriesBackup
    expect(removed).toEqual(['mahi-20260101T023000Z.backup'])
    expect(readdirSync(folder).sort()).toEqual(
      ['mahi-20260102T023000Z.backup', basename(file), 'mahi-before-the-move.backup'].sort(),
    )
    // A clock that was set back makes the newest one the first by its name.
    const late = await backUpSeries(mahi.databaseUrl, folder, 1, new Date('2025-12-31T02:30:00Z'))
    expect([...late.removed].sort()).toEqual(['mahi-20260102T023000Z.backup', basename(file)].sort())
    expect(existsSync(late.file)).toBe(true)
    await backUpSeries(mahi.databaseUrl, folder, 2)
    // A database that is away costs no backup.
    await expect(backUpSeries(`sqlite:${folder}/none.db`, folder, 1)).rejects.toThrow()
    expect(readdirSync(folder)).toHaveLength(3)
  })

  testWhere(canPlaceDatabase, 'a full disk: making one takes root, mkfs.ext4 and a loop device')(
    'without room writes none, and earlier ones stay',
    async () => {
      const disk = SmallDisk.create(48)
      const mahi = new Installation()
      const environment = { DATABASE_URL: await placeDatabase(disk) }
      const records = Array.from({ length: 3000 }, (_, index) => ({
        occupationCode: `X${index}`,
        descriptionEnglish: randomBytes(999).toString('hex'),
      }))
      await withDatabase(environment.DATABASE_URL, (database) =>
        importOccupations(database, sourceOf(records)),
      )
      await mahi.runJson(['backup', join(temporaryFolder(), 'mahi.backup')], { environment })
      const folder = join(disk.folder, 'backups')
      mkdirSync(folder)
      writeFileSync(join(folder, 'mahi-20260101T000000Z.backup'), 'kept')
      // Enough to open the database, and less than a copy of it takes.
      disk.fill(2_500_000)
      const backup = await mahi.run(['backup', '--keep', '1', folder], { environment })
      expect([backup.code, backup.stderr]).toEqual([
        1,
        expect.stringMatching(
          /cannot be written \(\w+\): make room for the file\. No backup was written, and the service is unchanged\. The newest backup is of \S+, less than a day ago\. Correct this and run the command again\.\n$/,
        ),
      ])
      expect(readdirSync(folder)).toEqual(['mahi-20260101T000000Z.backup'])
      expect((await mahi.run(['status'], { environment })).stdout).toMatch(
        /^Backup .*; failed on \S+: [\s\S]*^Backup +warning +The last one by mahi has failed: /m,
      )
    },
  )
})

test.skipIf(engine === 'sqlite')('a backup of PostgreSQL is left to its own programs', async () => {
  const mahi = await new Installation().migrate()
  const { code, stderr } = await mahi.run(['backup', 'mahi.backup'])
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^mahi backup copies a SQLite database\. Back up PostgreSQL with pg_dump or pgBackRest/,
    ),
  ])
  expect(readdirSync(mahi.folder)).toEqual([])
})

test('the age of the newest backup is a metric, from the creation of the database on, and status shows it', async () => {
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
  expect((await mahi.run(['status'])).stdout).toMatch(
    /^Backup +warning +There is none of the last 216 hours/m,
  )

  // Another program that makes backups records them.
  await mahi.runJson(['backup', '--made-by', 'pgbackrest'])
  await until(async () =>
    (await read('mahi_backup_age_seconds')) < limitOf('MahiBackupOld') ? true : undefined,
  )
  expect((await mahi.run(['status'])).stdout).toMatch(/^Backup +\d{4}-\S+, by pgbackrest$/m)
  for (const words of [[], ['file', '--made-by', 'x']]) {
    const both = await mahi.run(['backup', ...words])
    expect([both.code, both.stderr]).toEqual([
      1,
      expect.stringContaining('give the file of the backup, or --made-by'),
    ])
  }
})
