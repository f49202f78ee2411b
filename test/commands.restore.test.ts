import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Installation } from './support/command.ts'
import { withDatabase } from './support/opened.ts'
import { sourceOf } from './support/service.ts'

const HOLDS: Record<string, (database: Database) => Promise<unknown>> = {
  occupation: (database) => importOccupations(database, sourceOf([{ occupationCode: 'LATER' }])),
  submission: (database) =>
    publishResults(database, sourceOf([{ localId: 'L1' }]), { eid: '1001', returnId: 'R1' }),
  api_key: (database) => createKey(database, { client: 'later', expires: Date.now() + 86_400_000 }),
}

describe('a restore replaces a database that holds data only with --replace', () => {
  test.each(Object.entries(HOLDS))('%s', async (table, fill) => {
    const mahi = new Installation()
    const file = join(mahi.folder, 'mahi.backup')
    await mahi.runJson(['migrate'])
    await mahi.runJson(['backup', file])
    const count = () =>
      withDatabase(mahi.databaseUrl, (database) => database.get(`select count(*) as rows from ${table}`))
    await withDatabase(mahi.databaseUrl, fill)
    const refused = await mahi.run(['restore', file])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('holds data: give --replace')])
    expect(await count()).toEqual({ rows: 1 })

    expect((await mahi.run(['restore', file, '--replace'])).code).toBe(0)
    expect(await count()).toEqual({ rows: 0 })
    // A database without data needs no --replace.
    expect((await mahi.run(['restore', file])).code).toBe(0)
  })
})

test('a file that is no backup, or is not there, changes nothing', async () => {
  const mahi = await new Installation().fill([{ occupationCode: 'A1' }])
  const before = await mahi.run(['occupations', 'export'])
  for (const file of [mahi.write('text.backup', 'not a backup\n'), join(mahi.folder, 'none.backup')])
    expect(await mahi.run(['restore', file, '--replace'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was changed'),
    })
  expect((await mahi.run(['occupations', 'export'])).stdout).toBe(before.stdout)
})
