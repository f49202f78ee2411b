import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { ask, Installation } from '../support/command.ts'
import { ROOT, readDockerfile, readManifest, readRepositoryFile } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { findPostgres } from '../support/find-postgres.ts'
import { requireProgram } from '../support/require-program.ts'
import { readState } from '../support/state.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

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

  const input = '{"occupationCode":"ONLY"}\n'
  await mahi.runJson(['occupations', 'import', '--replace', '-'], { input, environment })
  await mahi.runJson(['restore', '--replace', join(folder, kept.at(-1) ?? '')], { environment })
  expect(await withDatabase(url.href, readState)).toEqual(before)

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

testWhere(
  process.getuid?.() === 0,
  'only root can run commands as other users: backup and restore in one container',
)('in one container, the user of the image can back up and restore, and another user cannot', async () => {
  // Without Docker: the user, the environment and the commands of the image, and its two volumes.
  const mahi = new Installation({ inProcesses: true })
  const { instructions = [] } = readDockerfile('deploy/Dockerfile').at(-1) ?? {}
  const wordsOf = (name: string) => instructions.find((each) => each.name === name)?.words ?? []
  const owner = Number(wordsOf('USER')[0]?.split(':')[0])
  // Commands run in the folder of the data, as in the image.
  const [data, backups] = [mahi.folder, temporaryFolder()]
  for (const folder of [data, backups]) {
    chmodSync(folder, 0o755)
    chownSync(folder, owner, owner)
  }
  const place = (text: string) => text.replace('/data', data).replace('/backup', backups)
  const settings = wordsOf('ENV').map((word) => place(word).split(/=(.*)/, 2))
  const environment = { ...Object.fromEntries(settings), PORT: '0' } as Record<string, string>
  /** Runs the command of the guide that begins like this. */
  const run = async (name: string, input = '', user = owner) => {
    const pattern = new RegExp(`^docker run .* mahi (${name} .*?)(?: <.*)?$`, 'm')
    const words = pattern.exec(readRepositoryFile('deploy/README.md'))?.[1]?.split(' ').map(place)
    return await mahi.run(words ?? ['the guide has no such command'], { environment, user, input })
  }
  const stranger = owner + 1

  const key = (await run('keys create')).stdout.trim()
  expect(await run('occupations import', '{"occupationCode":"A"}\n')).toMatchObject({ code: 0 })
  expect(await run('backup')).toMatchObject({ code: 0 })
  expect(await run('occupations import', '{"occupationCode":"LATER"}\n')).toMatchObject({ code: 0 })
  for (const command of ['backup', 'restore']) {
    const { code, stderr } = await run(command, '', stranger)
    // One sentence.
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)])
  }
  expect(readdirSync(backups)).toEqual(['mahi.backup.db'])
  expect(statSync(join(backups, 'mahi.backup.db')).mode & 0o777).toBe(0o600)

  expect(await run('restore')).toMatchObject({ code: 0 })
  const server = mahi.start(['serve'], { environment, user: owner })
  const [, port] = await server.output(/http:\/\/\S+:(\d+)/)
  const statusOf = async (code: string) =>
    (await ask(`http://127.0.0.1:${port}/v1/occupations/${code}`, { 'x-api-key': key })).status
  expect([await statusOf('A'), await statusOf('LATER')]).toEqual([200, 404])
  server.kill('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0 })
  for (const name of readdirSync(data)) {
    const { uid, mode } = statSync(join(data, name))
    expect([name, uid, mode & 0o077]).toEqual([name, owner, 0])
  }
})
