import { existsSync, linkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'

test('a backup never takes the place of the database, by whichever name it is given', async () => {
  const mahi = new Installation()
  await mahi.fill([{ occupationCode: '1', titleEnglish: 'One' }])
  const database = mahi.databaseUrl.replace('sqlite:', '')
  symlinkSync(database, join(mahi.folder, 'symbolic'))
  linkSync(database, join(mahi.folder, 'hard'))
  symlinkSync(database, join(mahi.folder, 'other.part'))
  for (const file of [database, `${database}-wal`, `${database}-shm`, 'symbolic', 'hard', 'other']) {
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

test('a restore never deletes the backup that it is given, and replaces data only if it is told to', async () => {
  const mahi = await new Installation().migrate()
  await mahi.fill([{ occupationCode: '1', titleEnglish: 'One' }])
  const own = `${mahi.databaseUrl.replace('sqlite:', '')}.restore`
  await mahi.runJson(['backup', own])
  await mahi.runJson(['backup', 'good.backup'])
  expect(await mahi.run(['restore', '--replace', own])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has the name of the file that a restore works with. Rename it'),
  })
  expect(existsSync(own)).toBe(true)
  await mahi.fill([{ occupationCode: '2', titleEnglish: 'Two' }])
  expect(await mahi.run(['restore', 'good.backup'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('holds data: give --replace'),
  })
  expect((await mahi.catalogue()).trim().split('\n')).toHaveLength(2)
  await mahi.runJson(['restore', '--replace', 'good.backup'])
  expect((await mahi.catalogue()).trim().split('\n')).toHaveLength(1)
})
