import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, until } from '../support/command.ts'
import { readRepositoryFile } from '../support/deploy.ts'
import { fillDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { requireProgram } from '../support/require-program.ts'

// Recovery with pgBackRest as docs/operations.md describes it, with the files of deploy/pgbackrest.

const canRecover = requireProgram(
  hasCluster && spawnSync('pgbackrest', ['version']).status === 0,
  'recovery of a PostgreSQL database to a moment',
  'pgbackrest or a PostgreSQL server is not installed',
)

/** A server with the settings of `deploy/`, and the commands of the documentation. */
async function startArchived() {
  const settings = Object.fromEntries(
    [...readRepositoryFile('deploy/pgbackrest/postgresql.conf').matchAll(/^(\w+) = '?(.*?)'?$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  )
  expect(Object.keys(settings).sort()).toEqual(['archive_command', 'archive_mode', 'archive_timeout'])
  // The server inherits the places of this test's files; everything else is as it is deployed.
  const cluster = await Cluster.start({ ...settings, archive_timeout: '0', archive_mode: 'off' })
  onTestFinished(() => cluster.remove())
  const places = {
    CONFIG: join(cluster.folder, 'pgbackrest.conf'),
    CONFIG_INCLUDE_PATH: cluster.makeFolder('conf.d'),
    REPO1_PATH: cluster.makeFolder('repository'),
    PG1_PATH: join(cluster.folder, 'data'),
    PG1_PORT: `${cluster.port}`,
    PG1_SOCKET_PATH: cluster.folder,
    PG1_USER: 'mahi',
    LOG_PATH: cluster.makeFolder('log-of-pgbackrest'),
    LOCK_PATH: cluster.makeFolder('lock'),
    SPOOL_PATH: cluster.makeFolder('spool'),
  }
  for (const [name, value] of Object.entries(places)) vi.stubEnv(`PGBACKREST_${name}`, value)
  writeFileSync(places.CONFIG, readRepositoryFile('deploy/pgbackrest/pgbackrest.conf'))
  writeFileSync(
    join(places.CONFIG_INCLUDE_PATH, 'passphrase.conf'),
    '[global]\nrepo1-cipher-pass=not-a-real-one\n',
  )
  /** Runs a command as the documentation prints it, but for a moment in it. */
  const pgbackrest = (printed: string, place = (text: string) => text) => {
    const command = `pgbackrest --stanza=mahi ${printed}`
    expect(readRepositoryFile('docs/operations.md')).toContain(`\`${command}\``)
    return cluster.runAsOwner('sh', ['-c', place(command)])
  }
  await cluster.stop()
  cluster.configure({ archive_mode: settings.archive_mode ?? '' })
  await cluster.start()
  pgbackrest('stanza-create')
  pgbackrest('check')
  pgbackrest('--type=full backup')
  /** Starts a restored server, and waits until it accepts changes. */
  const restart = async () => {
    await cluster.start()
    await until(async () => {
      const [row] = await cluster.query<{ recovering: boolean }>('select pg_is_in_recovery() as recovering')
      return row?.recovering === false
    })
  }
  /** Waits until everything that is committed now is in the repository. */
  const archive = async () => {
    const [row] = await cluster.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file')
    await until(async () => {
      const [state] = await cluster.query<{ done: boolean }>(
        `select last_archived_wal >= '${row?.file}' as done from pg_stat_archiver`,
      )
      return state?.done === true
    })
  }
  return { cluster, pgbackrest, restart, archive, repository: places.REPO1_PATH }
}

beforeEach(() => () => vi.unstubAllEnvs())

test.skipIf(!canRecover)('a mistake is undone by going back to the moment before it', async () => {
  const { cluster, pgbackrest, restart, archive, repository } = await startArchived()
  const url = await cluster.createDatabase('mahi')
  const { headers, token } = await fillDatabase(url)
  const mahi = new Installation({ inProcesses: true })
  const environment = { DATABASE_URL: url, ERASURE_LOG: join(mahi.folder, 'erased.ndjson') }
  const exported = async () => (await mahi.run(['occupations', 'export'], { environment })).stdout
  const before = await exported()
  // It knows when a backup ended by the second.
  const backupEnded = Date.now()
  await until(() => Date.now() > backupEnded + 1000)
  const [row] = await cluster.query<{ now: string }>('select clock_timestamp()::text as now')

  const input = '{"occupationCode":"ONLY"}\n'
  await mahi.runJson(['occupations', 'import', '--replace', '-'], { input, environment })
  expect(await exported()).not.toBe(before)
  await mahi.runJson(['submissions', 'delete', token], { environment })
  await archive()

  await cluster.stop()
  const printed = '2026-11-23 14:04:00+13'
  pgbackrest(`--delta --type=time --target='${printed}' --target-action=promote restore`, (text) =>
    text.replace(printed, row?.now ?? ''),
  )
  await restart()
  const { url: at } = await mahi.serve(environment)
  expect((await ask(`${at}/v1/occupations?Limit=10`, headers)).status).toBe(200)
  expect(await exported()).toBe(before)
  const statusOf = async () => {
    const { submissions } = (await mahi.runJson(['submissions', 'list'], { environment })) as {
      submissions: { submissionToken: string; submissionStatus: string }[]
    }
    return submissions.find(({ submissionToken }) => submissionToken === token)?.submissionStatus
  }
  expect(await statusOf()).toBe('Validated')

  // What was deleted after that moment is deleted again.
  expect(await mahi.runJson(['after-restore'], { environment })).toMatchObject({ erased: 1 })
  expect(await statusOf()).toBe('Cancelled')
  expect(await exported()).toBe(before)

  const files = cluster.runAsOwner('find', [repository, '-type', 'f']).trim().split('\n')
  expect(files.length).toBeGreaterThan(10)
  // Each begins as OpenSSL begins what it encrypts with a passphrase.
  for (const file of files)
    expect([file, readFileSync(file).toString('latin1', 0, 8)]).toEqual([file, 'Salted__'])
})

test.skipIf(!canRecover)('a lost disk loses nothing that was in the repository', async () => {
  const { cluster, pgbackrest, restart, archive } = await startArchived()
  const url = await cluster.createDatabase('mahi')
  const { headers } = await fillDatabase(url)
  const mahi = new Installation({ inProcesses: true })
  const environment = { DATABASE_URL: url }
  const exported = async () => (await mahi.run(['occupations', 'export'], { environment })).stdout
  pgbackrest('--type=diff backup')
  await mahi.run(['backup', '--made-by', 'pgbackrest'], { environment })
  const input = '{"occupationCode":"LATER"}\n'
  await mahi.runJson(['occupations', 'import', '-'], { input, environment })
  const before = await exported()
  await archive()
  await cluster.kill()
  for (const name of readdirSync(join(cluster.folder, 'data')))
    rmSync(join(cluster.folder, 'data', name), { recursive: true })
  pgbackrest('restore')
  await restart()
  expect(await exported()).toBe(before)
  expect((await mahi.run(['status'], { environment })).stdout).toMatch(/^Backup +\S+, by pgbackrest$/m)
  const { url: at } = await mahi.serve(environment)
  expect((await ask(`${at}/v1/occupations/LATER`, headers)).status).toBe(200)
})
