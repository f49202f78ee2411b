import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeCollectionDefinition } from './support/collection.ts'
import { Installation } from './support/command.ts'
import { readRepositoryFile } from './support/deploy.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

/** No setting of the database in the environment, as in the shell of an operator. */
const SHELL = { DATABASE_URL: '' }

/** The settings file of `deploy/`, with the database of the service, and a shell that finds it. */
async function install(url: string) {
  const mahi = new Installation()
  const file = join(mahi.folder, 'mahi.env')
  const settings = readRepositoryFile('deploy/systemd/mahi.env.example')
  writeFileSync(file, settings.replace(/^DATABASE_URL=.*$/m, `DATABASE_URL="${url}"`))
  return { mahi, file, environment: { ...SHELL, MAHI_SETTINGS: file } }
}

test('beside a service with a settings file, commands use the database of the service', async () => {
  const url = temporaryDatabaseUrl()
  const { mahi, environment } = await install(url)
  const input = '{"occupationCode":"A1"}\n'
  const imported = await mahi.run(['occupations', 'import', '-'], { input, environment })
  expect(imported.code).toBe(0)
  await mahi.runJson(['keys', 'create', '--client', 'docs'], { environment })
  expect(existsSync(join(mahi.folder, 'var'))).toBe(false)
  // As the service sees it, whose settings systemd reads from the same file.
  const service = { ...SHELL, DATABASE_URL: url }
  expect((await mahi.runJson(['status'], { environment: service })) as object).toMatchObject({
    occupations: 1,
    keys: { valid: 1 },
  })
  const { settings } = (await mahi.runJson(['config'], { environment })) as {
    settings: { name: string; value: string; source: string }[]
  }
  expect(settings.find(({ name }) => name === 'DATABASE_URL')).toMatchObject({
    value: url,
    source: 'settings file',
  })
  // The environment decides, such as for a trial of a backup.
  const trial = { ...environment, DATABASE_URL: temporaryDatabaseUrl() }
  const other = await mahi.run(['keys', 'list', '--json'], { environment: trial })
  expect(other.stderr + other.stdout).not.toContain('docs')
})

test('returns are read with the definitions and the time zone of the installation', async () => {
  const { mahi, file, environment } = await install(temporaryDatabaseUrl())
  const settings = readFileSync(file, 'utf8').replaceAll(/^(?:DEFINITIONS|TIME_ZONE)=.*$/gm, '')
  const mine = `DEFINITIONS="${makeCollectionDefinition()}"\nTIME_ZONE=Pacific/Auckland\n`
  writeFileSync(file, `${settings}\n${mine}`)
  const returns = mahi.write(
    'returns.yml',
    'returns:\n  - id: "202512"\n    name: December\n    definition: collected\n    opens: 2026-01-01\n    due: 2026-01-20\n    closes: 2026-01-31 17:00\n',
  )
  const imported = await mahi.run(['returns', 'import', returns], { environment })
  expect([imported.code, imported.stderr]).toEqual([
    0,
    expect.stringContaining('1 created, 0 updated, 0 unchanged.'),
  ])
  const { stdout } = await mahi.run(['returns', 'list'], { environment })
  expect(stdout).toContain('closes 31 Jan 2026, 17:00 (Pacific/Auckland; 2026-01-31T04:00:00.000Z)')
})

test('a settings file names what is not a setting, once for each command, and nothing of other programs', async () => {
  const { mahi, file, environment } = await install(temporaryDatabaseUrl())
  const lines = [
    'RETENTION_DAYS=30',
    'MAHI_PORT=80',
    'PORTS=1',
    'PORT_FILE=/port',
    'REDIS_URL_FILE=',
    'TZ=UTC',
  ]
  writeFileSync(file, [readFileSync(file, 'utf8'), ...lines, 'NODE_OPTIONS=--title=mahi', ''].join('\n'))
  const { code, stderr } = await mahi.run(['keys', 'create', '--client', 'docs'], { environment })
  expect([code, stderr.match(/^.* sets what is not a setting.*$/gm)]).toEqual([
    0,
    [
      `${file} sets what is not a setting: RETENTION_DAYS, MAHI_PORT, PORTS, PORT_FILE. Correct or remove it; "mahi config" lists the settings.`,
    ],
  ])
})

test('a settings file that cannot be used ends the command, and nothing is written elsewhere', async () => {
  const { mahi, file, environment } = await install(temporaryDatabaseUrl())
  const create = ['keys', 'create', '--client', 'docs']
  writeFileSync(file, 'DATABASE_URL=sqlite:mahi.db\nexport PORT=1\n')
  expect((await mahi.run(create, { environment })).stderr).toContain(
    `${file}:2: must be NAME=VALUE, or begin with #`,
  )
  const missing = { ...SHELL, MAHI_SETTINGS: join(mahi.folder, 'none.env') }
  expect((await mahi.run(create, { environment: missing })).stderr).toMatch(
    /none\.env, which cannot be read \(ENOENT\)\. Correct MAHI_SETTINGS$/m,
  )
  expect(existsSync(join(mahi.folder, 'var'))).toBe(false)
  // A check of files needs no settings.
  expect((await mahi.run(['check', '--sample', 'sample'], { environment: missing })).code).toBe(0)
})
