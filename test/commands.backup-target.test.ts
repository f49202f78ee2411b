import { linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'

test('a backup never takes the place of the database, by whichever name it is given', async () => {
  const mahi = new Installation()
  await mahi.fill([{ occupationCode: '1', titleEnglish: 'One' }])
  const database = mahi.databaseUrl.replace('sqlite:', '')
  symlinkSync(database, join(mahi.folder, 'symbolic'))
  linkSync(database, join(mahi.folder, 'hard'))
  symlinkSync(database, join(mahi.folder, 'other.part'))
  symlinkSync(dirname(database), join(mahi.folder, 'folder'))
  const journal = `folder/${basename(database)}-journal`
  for (const file of [database, `${database}-wal`, `${database}-shm`, journal, 'symbolic', 'hard', 'other']) {
    const { code, stderr } = await mahi.run(['backup', file])
    expect({ file, code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /belongs to the database itself. Name another file.*service is unchanged/,
      ),
    })
  }
  expect((await mahi.catalogue()).split('\n')).toHaveLength(2)
  // Its temporary file would have the name of this database.
  const moved = { environment: { DATABASE_URL: `sqlite:${database}.part` } }
  linkSync(database, `${database}.part`)
  expect(await mahi.run(['backup', database], moved)).toMatchObject({ code: 1 })
  expect(await mahi.runJson(['status'], moved)).toMatchObject({ occupations: 1 })
  expect(await mahi.runJson(['backup', 'good.backup'])).toMatchObject({ bytes: expect.any(Number) })
})

test('a series of backups removes no database in use that has the name of one', async () => {
  const mahi = new Installation()
  await mahi.fill([{ occupationCode: '1', titleEnglish: 'One' }])
  mkdirSync(`${mahi.folder}/backups`)
  const name = 'backups/mahi-20260101T000000Z.backup'
  await mahi.run(['backup', name])
  const tried = { environment: { DATABASE_URL: `sqlite:${mahi.folder}/${name}` } }
  expect(await mahi.runJson(['backup', '--keep', '1', 'backups'], tried)).toMatchObject({ removed: [] })
  expect(await mahi.runJson(['status'], tried)).toMatchObject({ occupations: 1 })
})
