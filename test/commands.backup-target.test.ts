import { linkSync, symlinkSync } from 'node:fs'
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
