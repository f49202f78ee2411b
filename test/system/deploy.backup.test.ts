import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { ROOT, readManifest } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { findPostgres } from '../support/find-postgres.ts'
import { requireProgram } from '../support/require-program.ts'
import { readState } from '../support/state.ts'
import { temporaryFolder } from '../support/temporary.ts'

const postgresUrl = await findPostgres()
const canDump = requireProgram(
  postgresUrl !== undefined && spawnSync('pg_dump', ['--version']).status === 0,
  'the scripts of deploy that dump a database',
  'there is no PostgreSQL, or pg_dump is not installed',
)

/** A separate database, because a dump is of all of one. */
async function createDatabase(): Promise<URL> {
  const url = new URL(postgresUrl ?? '')
  const admin = new pg.Client({ connectionString: url.href })
  await admin.connect()
  const name = `mahi_backup_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${name}`)
  onTestFinished(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  url.pathname = `/${name}`
  return url
}

/** The script of compose.yaml. */
function runForCompose(url: URL, folder: string, path = process.env.PATH) {
  return spawnSync('bash', [join(ROOT, 'deploy/postgres/backup.sh'), 'once'], {
    encoding: 'utf8',
    env: {
      PATH: path,
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGUSER: decodeURIComponent(url.username),
      PGPASSWORD: decodeURIComponent(url.password),
      PGDATABASE: url.pathname.slice(1),
      BACKUP_FOLDER: folder,
    },
  })
}

/** The script of the cron job. */
function runForKubernetes(url: URL, folder: string, path = process.env.PATH) {
  const { spec } = readManifest<{
    spec: {
      jobTemplate: { spec: { template: { spec: { containers: [{ command: string[]; args: [string] }] } } } }
    }
  }>('backup-cron-job')
  const { command, args } = spec.jobTemplate.spec.template.spec.containers[0]
  const [shell = '', ...options] = command
  return spawnSync(shell, [...options, args[0].replace('cd /backups', `cd ${folder}`)], {
    encoding: 'utf8',
    env: { PATH: path, DATABASE_URL: url.href },
  })
}

/** A folder of programs that are found before those of the system. */
function pathWith(programs: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return `${folder}:${process.env.PATH}`
}

test.skipIf(!canDump).each([
  ['compose.yaml', runForCompose],
  ['Kubernetes', runForKubernetes],
])('the backup of %s keeps fourteen dumps that restore everything, and records failures', async (_, run) => {
  const url = await createDatabase()
  await fillDatabase(url.href)
  const before = await withDatabase(url.href, readState)
  const mahi = new Installation({ inProcesses: true })
  const environment = { DATABASE_URL: url.href }
  const folder = temporaryFolder()
  for (let day = 10; day < 26; day++) writeFileSync(join(folder, `mahi-202601${day}T023000Z.backup`), '')
  const made = run(url, folder)
  expect([made.status, made.stderr]).toEqual([0, ''])
  const kept = readdirSync(folder).sort()
  expect([kept.length, kept[0]]).toEqual([14, 'mahi-20260113T023000Z.backup'])
  const recorded = () =>
    withDatabase(url.href, (database) => database.get('select finished, failed from backup'))
  expect(await recorded()).toEqual({ finished: expect.any(Number), failed: null })
  expect((await mahi.run(['status'], { environment })).stdout).toMatch(/^Backup +\S+, .* by pg_dump$/m)

  const restored = await createDatabase()
  const dump = join(folder, kept.at(-1) ?? '')
  const restore = ['--no-owner', '--no-privileges', '--exit-on-error', `--dbname=${restored.href}`, dump]
  expect(spawnSync('pg_restore', restore, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  expect(await withDatabase(restored.href, readState)).toEqual(before)

  const failed = run(url, folder, pathWith({ pg_dump: 'exit 1' }))
  expect(failed.status).not.toBe(0)
  expect(readdirSync(folder).sort()).toEqual(kept)
  expect(await recorded()).toMatchObject({ failed: expect.any(Number) })
  expect(run(url, folder).status).toBe(0)
  expect(await recorded()).toMatchObject({ failed: null })
})

test('the backup of Kubernetes passes the password in the environment, where nobody else can read it', () => {
  const [folder, log] = [temporaryFolder(), join(temporaryFolder(), 'log')]
  const program = `printf '%s\\n' "$PGPASSWORD" "$@" >>${log}\nfor each; do case $each in --file=*) : >"\${each#--file=}";; esac; done`
  const path = pathWith({ pg_dump: program, pg_restore: program, psql: program })
  const url = new URL('postgres://mahi:p%40%5Css%2Fw@db.example:5432/mahi?sslmode=require')
  expect(runForKubernetes(url, folder, path)).toMatchObject({ status: 0, stderr: '' })
  const [password, ...parameters] = readFileSync(log, 'utf8').split('\n')
  expect(password).toBe('p@\\ss/w')
  expect(parameters.filter((each) => each.includes('p%40'))).toEqual([])
  expect(parameters).toContain('--dbname=postgres://mahi@db.example:5432/mahi?sslmode=require')
})
