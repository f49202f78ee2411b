import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { copyDatabase, count } from '../../src/operate/copy.ts'
import { listTables } from '../../src/operate/tables.ts'
import { InstallationHere } from '../support/command-here.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { describeTables } from '../support/state.ts'
import { temporaryDatabaseUrl, temporaryFolder } from '../support/temporary.ts'

/** Bytes, nulls, an empty text and characters outside ASCII, in whichever tables have room for them. */
async function addOddities(database: Database): Promise<void> {
  await database.write('schema', async (writer) => {
    const { bytes, text } = writer.dialect
    await writer.run(
      `create table oddity (a ${text} not null, b bigint not null, data ${bytes}, note ${text}, primary key (a, b))`,
    )
    for (const [a, b, data, note] of [
      ['', 0, null, null],
      ['Ā\t\\N', -1, Buffer.from([0, 255, 10, 92]), ''],
      ['Ā\t\\N', 9_007_199_254_740_991, Buffer.alloc(0), 'line\nbreak "quoted"'],
      ['😀', 2, Buffer.alloc(200_000, 7), 'é'],
    ] as const)
      await writer.run('insert into oddity (a, b, data, note) values ($1, $2, $3, $4)', [a, b, data, note])
    for (let b = 1; b <= 1_000; b++) await writer.run('insert into oddity (a, b) values ($1, $2)', ['', b])
  })
}

describe('copy', () => {
  test('copies everything, and a server of the copy responds like the original', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    const { questions, keyId } = await fillDatabase(from)
    const mahi = new InstallationHere()
    const { tables, rows } = (await mahi.runJson(['copy', '--from', from, '--to', to])) as {
      tables: { name: string }[]
      rows: number
    }
    const copied = await describeTables(to)
    expect(copied).toEqual(await describeTables(from))
    for (const table of tables) expect(copied[table.name]).toEqual(table)
    expect(rows).toBeGreaterThan(140)

    const environment = {
      RATE_LIMIT_OCCUPATIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
    }
    const before = await mahi.serve({ DATABASE_URL: from, ...environment })
    const after = await mahi.serve({ DATABASE_URL: to, ...environment })
    for (const { path, headers } of questions) {
      const [one, other] = [await ask(before.url + path, headers), await ask(after.url + path, headers)]
      expect([other.status, other.headers.etag, other.body]).toEqual([200, one.headers.etag, one.body])
    }
    // Numbering continues after the copied rows: a new row gets its own number.
    const input = '{"occupationCode":"NEW","minorGroups":[{"minorGroup":{"code":"M1"}}]}\n'
    await mahi.runJson(['occupations', 'import', '-'], { input, environment: { DATABASE_URL: to } })
    await mahi.runJson(['keys', 'revoke', keyId], { environment: { DATABASE_URL: to } })
  })

  test('a table that a later migration adds is copied too, with bytes, nulls and every character', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    for (const url of [from, to]) await withDatabase(url, addOddities)
    await withDatabase(to, (database) =>
      database.write('schema', (writer) => writer.run('delete from oddity')),
    )
    // An empty database of this version has no such table: it counts as having no rows.
    const { stderr } = await new InstallationHere().run(['copy', '--from', from, '--to', to])
    expect(stderr).toContain('oddity: 1,004 rows\n')
    const copied = await describeTables(to)
    expect(copied).toEqual(await describeTables(from))
    expect(copied.oddity?.rows).toBe(1_004)
  })

  test('a copy that was interrupted is continued, and not served before it has ended', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    await fillDatabase(from, 300)
    const mahi = new InstallationHere()
    await mahi.runJson(['copy', '--from', from, '--to', to])
    const whole = await describeTables(to)
    // As a kill leaves it: the mark is there, tables are missing, one ends early, and one holds what is not the source's.
    const source = await openDatabase(from)
    const identity = await source.get<{ value: string }>(`select value from instance where name = 'hash-key'`)
    await source.close()
    const { createHash } = await import('node:crypto')
    const mark = createHash('sha256').update(`copy of ${identity?.value}`).digest('hex')
    await withDatabase(to, (database) =>
      database.write('schema', async (writer) => {
        await writer.run(`insert into instance (name, value) values ('copying', $1)`, [mark])
        await writer.run(`delete from result_block where block > 5`)
        await writer.run(`delete from api_key`)
        await writer.run(`update occupation set document = '{}' where code = 'C100'`)
      }),
    )
    const { code, stderr } = await mahi.start(['serve'], { environment: { DATABASE_URL: to } }).ended
    expect([code, stderr]).toEqual([1, expect.stringContaining('is incomplete. Run "mahi copy" again first')])
    await mahi.runJson(['copy', '--from', from, '--to', to])
    expect(await describeTables(to)).toEqual(whole)
  })

  test('refuses a target into which something is being written', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    await fillDatabase(from)
    await withDatabase(from, (source) =>
      withDatabase(temporaryDatabaseUrl(), async (target) => {
        const tables = await listTables(target)
        const rows = tables.map(async ({ name }) => [name, await count(target, name)] as const)
        const pristine = new Map(await Promise.all(rows))
        let copying: Promise<unknown> | undefined
        await target.write('schema', async (writer) => {
          await writer.run(`insert into key_use (key_id, used) values ('mahi_0123456789ab', 1)`)
          copying = copyDatabase(source, target, { tables, pristine })
          copying.catch(() => undefined)
          // The copy reads the target as often as it will before this is committed.
          for (let read = 0; read < 2 * tables.length; read++) await target.get('select name from instance')
        })
        await expect(copying).rejects.toThrow('is not empty')
        expect(await target.all('select key_id from key_use')).toHaveLength(1)
      }),
    )
  })

  test('refuses a target with data, and a source that does not exist', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    await fillDatabase(from)
    await fillDatabase(to)
    const before = await describeTables(to)
    const mahi = new InstallationHere()
    const full = await mahi.run(['copy', '--from', from, '--to', to])
    expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('is not empty')])
    expect(await describeTables(to)).toEqual(before)
    const absent = await mahi.run(['copy', '--from', `${from}.absent`, '--to', to])
    expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('does not exist')])
    const same = await mahi.run(['copy', '--from', from, '--to', from])
    expect([same.code, same.stderr]).toEqual([1, expect.stringContaining('the same database')])
  })
})
