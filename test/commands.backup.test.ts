import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { backUpSeries, type SeriesBackup } from '../src/upkeep/backup-series.ts'
import { digest } from '../src/upkeep/copy.ts'
import { listTables } from '../src/upkeep/tables.ts'
import { Installation, until } from './support/command.ts'
import { fillDatabase, withDatabase } from './support/filled-database.ts'
import { ask } from './support/load.ts'
import { temporaryFolder } from './support/temporary.ts'

/** Every table with its count and digest, but for those that a process which serves makes of the others. */
async function describeAll(url: string) {
  return await withDatabase(url, async (database) => {
    const described: Record<string, unknown> = {}
    const tables = (await listTables(database)).filter(
      ({ name }) => !/^(?:search_index|job|worker)/.test(name),
    )
    for (const table of tables) described[table.name] = await digest(database, table)
    return described
  })
}

describe('backup and restore, while the service runs', () => {
  test('a restored database is what it was, and the service shows it at once', async () => {
    const mahi = new Installation()
    const { headers, keyId } = await fillDatabase(mahi.databaseUrl)
    const { url } = await mahi.serve()
    const count = async () =>
      JSON.parse((await ask(`${url}/v1/occupations`, headers)).body).totalCount as number
    expect(await count()).toBe(60)
    const before = await describeAll(mahi.databaseUrl)
    const file = join(temporaryFolder(), 'mahi.backup')
    const backup = (await mahi.runJson(['backup', file])) as { file: string; bytes: number }
    expect(backup).toEqual({ file, bytes: statSync(file).size })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(file, '..'))).toEqual(['mahi.backup'])

    await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n' })
    await mahi.run(['keys', 'revoke', keyId])
    await until(async () => ((await ask(`${url}/v1/occupations`, headers)).status === 401 ? true : undefined))

    const refused = await mahi.run(['restore', file])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('holds data: give --replace')])
    await mahi.runJson(['restore', file, '--replace'])
    expect(await describeAll(mahi.databaseUrl)).toEqual(before)
    await until(async () => ((await ask(`${url}/v1/occupations`, headers)).status === 200 ? true : undefined))
    await until(async () => ((await count()) === 60 ? true : undefined))
  })

  test('a file that is not a backup is refused, and changes nothing', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const before = await describeAll(mahi.databaseUrl)
    const file = join(temporaryFolder(), 'other')
    const whole = join(temporaryFolder(), 'whole.backup')
    await mahi.runJson(['backup', whole])
    const half = readFileSync(whole).subarray(0, statSync(whole).size / 2)
    for (const text of ['', half, 'PGDMP and then nothing', 'SQLite format 3\0 and then nothing']) {
      writeFileSync(file, text)
      const { code, stderr } = await mahi.run(['restore', file, '--replace'])
      expect([text.length, code]).toEqual([text.length, 1])
      expect(stderr).toMatch(/is damaged|is a backup of|pg_restore failed/)
    }
    expect((await mahi.run(['restore', `${file}.absent`])).stderr).toContain('does not exist')
    expect((await mahi.run(['backup', join(file, 'in', 'a', 'file')])).stderr).toMatch(
      /cannot be written|ENOTDIR/,
    )
    expect(await describeAll(mahi.databaseUrl)).toEqual(before)
  })
})

describe('backup --keep', () => {
  test('keeps the newest of a series, and touches no other file', async () => {
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
    // A database that is away costs no backup.
    await expect(backUpSeries(`sqlite:${folder}/none.db`, folder, 1)).rejects.toThrow()
    expect(readdirSync(folder)).toHaveLength(3)
  })

  test('refuses an invalid number', async () => {
    const { code, stderr } = await new Installation().run(['backup', '--keep', '0', 'x'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('whole number from 1 to 999999, not "0"')])
  })
})
