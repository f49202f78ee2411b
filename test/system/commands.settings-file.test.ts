import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { temporaryDatabaseUrl } from '../support/temporary.ts'

/** No setting of the database in the environment, as in the shell of an operator. */
const SHELL = { DATABASE_URL: '' }

// A process says it once, so each of these needs a process of its own.
test('without a settings file, commands name the database of the folder while it is new', async () => {
  const mahi = new Installation({ inProcesses: true })
  const created = await mahi.run(['keys', 'create', '--client', 'docs'], { environment: SHELL })
  expect(created.stderr).toContain(
    `Using ${join(mahi.folder, 'var/mahi.db')}, the default database of this folder. DATABASE_URL selects another one.`,
  )
  for (const environment of [SHELL, {}])
    expect((await mahi.run(['keys', 'list'], { environment })).stderr).not.toContain('Using')
})

test('commands name the settings file of the installation, and a user who may not read it gets advice', async () => {
  const mahi = new Installation({ inProcesses: true })
  const file = join(mahi.folder, 'mahi.env')
  writeFileSync(file, `DATABASE_URL="${temporaryDatabaseUrl()}"\n`, { mode: 0o600 })
  const environment = { ...SHELL, MAHI_SETTINGS: file }
  const create = ['keys', 'create', '--client', 'docs']
  const created = await mahi.run(create, { environment })
  expect([created.code, created.stderr]).toEqual([
    0,
    expect.stringContaining(`Using the settings in ${file}.`),
  ])
  if (process.getuid?.() === 0) {
    chmodSync(mahi.folder, 0o755)
    const refused = await mahi.run(create, { environment, user: 65534 })
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `The settings of this installation are in ${file}, which this user may not read. Run the command with sudo, or set DATABASE_URL\n`,
    ])
  }
  expect(existsSync(join(mahi.folder, 'var'))).toBe(false)
})
