import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../src/foundation/database/open.ts'
import { openSqlite } from '../src/foundation/database/sqlite.ts'
import { Installation } from './support/command.ts'
import { temporaryFolder } from './support/temporary.ts'

describe('a command that needs a database which is in use', () => {
  test.each([
    [['keys', 'list']],
    [['keys', 'revoke', 'mahi_0123456789ab']],
    [['keys', 'rotate', 'mahi_0123456789ab']],
    [['occupations', 'export']],
    [['occupations', 'history']],
    [['occupations', 'diff', '1', '2']],
    [['occupations', 'show', 'A1']],
    [['submissions', 'list']],
    [['submissions', 'show', 'token']],
    [['submissions', 'delete', 'token']],
    [['submissions', 'purge']],
    [['console']],
    [['console', '--end-sessions']],
  ])('%j fails at a wrong path, and creates nothing', async (parameters) => {
    const folder = temporaryFolder()
    const path = join(folder, 'absent', 'mahi.db')
    const { code, stdout, stderr } = await new Installation().run(parameters, {
      environment: { DATABASE_URL: `sqlite:${path}` },
    })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${path} does not exist. Check DATABASE_URL`)
    expect(existsSync(dirname(path))).toBe(false)
  })

  test('fails on a database without tables', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'empty.db')
    const mahi = new Installation()
    const environment = { DATABASE_URL: `sqlite:${path}` }
    await (await openSqlite(path)).close()
    const { code, stderr } = await mahi.run(['keys', 'list'], { environment })
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no Mahi tables')])
    const backup = await mahi.run(['backup', join(folder, 'backup')], { environment })
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining('empty.db has no Mahi tables.')])
    expect(readdirSync(folder)).not.toContain('backup')
  })
})

test('only their owner may read a SQLite database and the files beside it', async () => {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const environment = { DATABASE_URL: `sqlite:${join(folder, 'mahi.db')}` }
  const mahi = new Installation()
  await mahi.run(['keys', 'create', '--client', 'sms'], { environment })
  const database = await openDatabase(environment.DATABASE_URL)
  onTestFinished(() => database.close())
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  expect(modes.map(([name]) => name)).toEqual(['mahi.db', 'mahi.db-shm', 'mahi.db-wal'])
  for (const [name, mode] of modes) expect([name, mode]).toEqual([name, 0o600])
})
