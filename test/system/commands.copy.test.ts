import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copyDatabase } from '../../src/operate/copy.ts'
import { Installation } from '../support/command.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { describeTables } from '../support/state.ts'
import { temporaryDatabaseUrl, temporaryFolder } from '../support/temporary.ts'

describe('copy', () => {
  test('copies everything, and a server of the copy responds like the original', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    const { questions, keyId } = await fillDatabase(from)
    const mahi = new Installation()
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

  test('refuses a target into which something is being written', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    await fillDatabase(from)
    await withDatabase(from, (source) =>
      withDatabase(temporaryDatabaseUrl(), async (target) => {
        let copying: Promise<unknown> | undefined
        await target.write('schema', async (writer) => {
          await writer.run(`insert into key_use (key_id, used) values ('mahi_0123456789ab', 1)`)
          copying = copyDatabase(source, target)
          copying.catch(() => undefined)
        })
        await expect(copying).rejects.toThrow('is not empty')
        expect(await target.all('select key_id from key_use')).toHaveLength(1)
      }),
    )
  })

  test('that fails leaves the target empty, and can be repeated', async () => {
    const [from, to] = [`sqlite:${temporaryFolder()}/from.db`, temporaryDatabaseUrl()]
    await fillDatabase(from)
    await withDatabase(from, (source) =>
      withDatabase(to, async (target) => {
        const before = await describeTables(to)
        let tables = 0
        const failing = copyDatabase(source, target, () => {
          if (++tables === 9) throw new Error('cut off')
        })
        await expect(failing).rejects.toThrow('cut off')
        expect(await describeTables(to)).toEqual(before)
        await copyDatabase(source, target)
      }),
    )
    expect(await describeTables(to)).toEqual(await describeTables(from))
  })

  test('refuses a target with data, and a source that does not exist', async () => {
    const from = `sqlite:${temporaryFolder()}/from.db`
    const to = temporaryDatabaseUrl()
    await fillDatabase(from)
    await fillDatabase(to)
    const before = await describeTables(to)
    const mahi = new Installation()
    const full = await mahi.run(['copy', '--from', from, '--to', to])
    expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('is not empty')])
    expect(await describeTables(to)).toEqual(before)
    const absent = await mahi.run(['copy', '--from', `${from}.absent`, '--to', to])
    expect([absent.code, absent.stderr]).toEqual([
      1,
      expect.stringMatching(/from\.db\.absent does not exist\. Check --from\n$/),
    ])
    // A file has many names.
    symlinkSync(from.replace('sqlite:', ''), join(mahi.folder, 'linked.db'))
    for (const again of [from, from.replace(/\/(?=[^/]*$)/, '/./'), `sqlite:${mahi.folder}/linked.db`]) {
      const same = await mahi.run(['copy', '--from', from, '--to', again])
      expect([same.code, same.stderr]).toEqual([1, expect.stringContaining('the same database')])
    }
  })
})
