import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKey, listKeys } from '../../src/api/access/keys.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { ask, Installation } from '../support/command.ts'
import { ROOT, readDockerfile, readRepositoryFile, readYaml } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { exportText } from '../support/opened.ts'
import { blocksOf, Machine } from '../support/recipes.ts'
import { requireProgram } from '../support/require-program.ts'
import { readState } from '../support/state.ts'
import { testWhere } from '../support/test-where.ts'

// Every recipe that is printed for backups and restores runs here as it is printed.

/** What happens after the backup: the catalogue is replaced, a submission is deleted and a key revoked. */
async function changeSince(mahi: Installation, url: string, token: string, keyId: string): Promise<void> {
  const environment = { DATABASE_URL: url }
  const input = '{"occupationCode":"WRONG"}\n'
  await mahi.runJson(['occupations', 'import', '--replace', '-'], { input, environment })
  await mahi.runJson(['submissions', 'delete', token], { environment })
  await mahi.runJson(['keys', 'revoke', keyId], { environment })
}

/** The catalogue is that of the backup, and what must not be undone is not. */
async function expectRestored(
  url: string,
  before: Awaited<ReturnType<typeof readState>>,
  { token, keyId }: { token: string; keyId: string },
): Promise<void> {
  const after = await withDatabase(url, readState)
  expect(after.catalogue).toEqual(before.catalogue)
  expect(after.keys.get(keyId)).toMatchObject({ revoked: expect.any(Number) })
  expect([...before.submissions.keys()]).toContain(token)
  const ended = await withDatabase(url, (database) =>
    database.get('select ended from submission where token = $1', [token]),
  )
  expect(ended).toEqual({ ended: 'Cancelled' })
}

/** The service runs on it, and a key that is still valid can use it. */
async function expectServed(mahi: Installation, environment: Readonly<Record<string, string>>, key: string) {
  const { url, command } = await mahi.serve(environment)
  expect((await ask(`${url}/v1/occupations`, { 'x-api-key': key })).status).toBe(200)
  expect(await command.stop()).toBe(0)
}

const create = (url: string) =>
  withDatabase(url, (database) => createKey(database, { client: 'other', expires: Date.now() + 86_400_000 }))

test('docs/operations.md, "On one machine with systemd"', async () => {
  const mahi = new Installation({ inProcesses: true })
  const [install = ''] = blocksOf('docs/operations.md', 'On one machine with systemd')
  const [etc, units] = [join(mahi.folder, 'etc'), join(mahi.folder, 'etc/systemd/system')]
  mkdirSync(units, { recursive: true })
  await new Machine(mahi).run(install.replaceAll(' /etc/', ` ${etc}/`))
  expect(statSync(join(etc, 'mahi/mahi.env')).mode & 0o777).toBe(0o600)
  expect(readdirSync(units).sort()).toEqual(
    readdirSync(join(ROOT, 'deploy/systemd'))
      .filter((name) => name !== 'mahi.env.example')
      .sort(),
  )
})

describe('SQLite', () => {
  test('docs/operations.md, "Backups" and "Restoring"', async () => {
    const mahi = new Installation({ inProcesses: true })
    const machine = new Machine(mahi)
    const folder = join(mahi.folder, 'state')
    mkdirSync(join(folder, 'backups'), { recursive: true })
    const environment = { DATABASE_URL: `sqlite:${folder}/mahi.db` }
    const filled = await fillDatabase(environment.DATABASE_URL)
    const { key } = await create(environment.DATABASE_URL)
    const before = await withDatabase(environment.DATABASE_URL, readState)
    const [backup = ''] = blocksOf('docs/operations.md', 'Backups')
    await machine.run(backup, environment)
    expect(existsSync(join(mahi.folder, 'mahi.backup'))).toBe(true)
    const nightly = readRepositoryFile('deploy/systemd/mahi-backup.service')
    const [, made = ''] = /^ExecStart=(.*)$/m.exec(nightly) ?? []
    const place = (text: string) => text.replaceAll('/var/lib/mahi', folder)
    await machine.run(place(made), environment)
    await changeSince(mahi, environment.DATABASE_URL, filled.token, filled.keyId)

    const [restore = ''] = blocksOf('docs/operations.md', 'Restoring')
    await machine.run(place(restore), environment)
    await expectRestored(environment.DATABASE_URL, before, filled)
    await expectServed(mahi, environment, key)
    // The replaced one is whole.
    const replaced = await withDatabase(`sqlite:${folder}/replaced/mahi.db`, readState)
    expect([...replaced.catalogue.keys()]).toEqual(['WRONG'])

    // A step that fails ends the recipe: a second restore keeps what the first has replaced, and the database.
    const paste = async () => {
      const { code, stderr } = await machine.paste(place(restore), environment)
      expect([code, stderr.trim()]).toEqual([1, expect.stringMatching(/.$/)])
      expect(await withDatabase(`sqlite:${folder}/replaced/mahi.db`, readState)).toEqual(replaced)
      expect((await withDatabase(environment.DATABASE_URL, readState)).catalogue).toEqual(before.catalogue)
    }
    await paste()
    writeFileSync(join(folder, 'backups/mahi-99990101T000000Z.backup'), 'damaged')
    await paste()
  })

  test('docs/operations.md, a backup with cron, a trial of it beside the service, and an export', async () => {
    const mahi = new Installation({ inProcesses: true })
    const machine = new Machine(mahi)
    const { headers } = await fillDatabase(mahi.databaseUrl)
    const text = readRepositoryFile('docs/operations.md')
    const [, cron = ''] = /^\| cron \| `(.*)` \|$/m.exec(text) ?? []
    await machine.run(cron.replace('FOLDER', 'backups'))
    const input = '{"occupationCode":"LATER"}\n'
    await mahi.runJson(['occupations', 'import', '-'], { input })
    const service = await mahi.serve()
    const [backup] = readdirSync(join(mahi.folder, 'backups'))
    const [, trial = ''] = /`DATABASE_URL=sqlite:\/tmp\/trial\.db mahi (serve --port 0)`/.exec(text) ?? []
    const environment = { DATABASE_URL: `sqlite:${mahi.folder}/backups/${backup}` }
    const [tried] = await mahi.start(trial.split(' '), { environment }).output(/http:\/\/127\.0\.0\.1:\d+/)
    const count = async (url: string) =>
      ((await (await ask(`${url}/v1/occupations`, { ...headers })).json()) as { totalCount: number })
        .totalCount
    expect([await count(tried), await count(service.url)]).toEqual([60, 61])

    const [, exporting = '', importing = ''] =
      /`(mahi occupations export [^`]*)`[^`]*`(mahi occupations import [^`]*)`/.exec(text) ?? []
    await machine.run(exporting)
    const empty = { DATABASE_URL: `sqlite:${mahi.folder}/empty.db` }
    await machine.run(`mahi migrate; ${importing}`, empty)
    expect(await withDatabase(empty.DATABASE_URL, exportText)).toBe(await mahi.catalogue())
  })

  testWhere(process.getuid?.() === 0, 'only root can run commands as other users: one container')(
    'deploy/README.md, "A backup in one container", as the user of the image',
    async () => {
      const mahi = new Installation({ inProcesses: true })
      const machine = new Machine(mahi)
      const { instructions = [] } = readDockerfile('deploy/Dockerfile').at(-1) ?? {}
      const wordsOf = (name: string) => instructions.find((each) => each.name === name)?.words ?? []
      const owner = Number(wordsOf('USER')[0]?.split(':')[0])
      const [data, backups] = [join(mahi.folder, 'data'), join(mahi.folder, 'backup')]
      chmodSync(mahi.folder, 0o755)
      mkdirSync(data)
      chownSync(data, owner, owner)
      const place = (text: string) => text.replace('/data', data)
      const settings = Object.fromEntries(wordsOf('ENV').map((word) => place(word).split(/=(.*)/, 2)))
      machine.describe('image', { ...settings, USER_OF_IMAGE: owner })
      const url = String(settings.DATABASE_URL)
      const filled = await fillDatabase(url)
      const { key } = await create(url)
      for (const name of readdirSync(data)) chownSync(join(data, name), owner, owner)
      const input = mahi.write('occupations.ndjson', '{"occupationCode":"1","titleEnglish":"One"}\n')
      const [, commands = ''] = blocksOf('deploy/README.md', 'One container, with SQLite')
      await machine.run(commands.replace('< occupations.ndjson', `< ${input}`))
      const before = await withDatabase(url, readState)
      expect([before.catalogue.size, before.keys.size]).toEqual([61, 3])

      const [backup = '', restore = ''] = blocksOf('deploy/README.md', 'A backup in one container')
      mkdirSync(backups)
      chownSync(backups, owner, owner)
      await machine.run(backup)
      expect(readdirSync(backups)).toEqual(['mahi.backup.db'])
      expect(statSync(join(backups, 'mahi.backup.db'))).toMatchObject({ uid: owner, mode: 0o100600 })
      // Another user can neither make a backup nor read it.
      const stranger = { environment: { DATABASE_URL: url }, user: owner + 1 }
      for (const words of [['backup', join(mahi.folder, 'other')], ['status']])
        expect(await mahi.run(words, stranger)).toMatchObject({ code: 1 })

      await changeSince(mahi, url, filled.token, filled.keyId)
      await machine.run(restore)
      expect(readFileSync(join(mahi.folder, 'calls'), 'utf8')).toBe('stop mahi\nstart mahi\n')
      await expectRestored(url, before, filled)
      for (const name of readdirSync(data))
        expect([name, statSync(join(data, name)).uid]).toEqual([name, owner])
      await expectServed(mahi, { DATABASE_URL: url }, key)
    },
  )
})

const canRestore = requireProgram(
  hasCluster && ['psql', 'pg_dump', 'createdb'].every((each) => spawnSync(each, ['--version']).status === 0),
  'the recipes of PostgreSQL, with the roles of deploy/postgres',
  'there is no PostgreSQL, or its client is not installed',
)

describe.skipIf(!canRestore)('PostgreSQL, with the roles of deploy/postgres', () => {
  /** A server with an empty database and the roles. */
  async function startServer() {
    const cluster = await Cluster.start()
    onTestFinished(() => cluster.remove())
    await cluster.createDatabase('mahi')
    // The superuser of the test's server has the name of the role.
    await cluster.query('create role postgres superuser login')
    spawnSync('psql', [
      cluster.url('mahi').replace('mahi@', 'postgres@'),
      '-c',
      'alter role mahi rename to administrator',
    ])
    const server = { PGHOST: '127.0.0.1', PGPORT: `${cluster.port}` }
    const roles = spawnSync('sh', [join(ROOT, 'deploy/postgres/roles.sh')], {
      encoding: 'utf8',
      env: {
        ...server,
        PATH: process.env.PATH,
        POSTGRES_USER: 'postgres',
        POSTGRES_DB: 'mahi',
        OWNER_PASSWORD: 'owner',
        MAHI_PASSWORD: 'service',
      },
    })
    expect([roles.status, roles.stderr]).toEqual([0, ''])
    const urlOf = (user: string) => cluster.url('mahi').replace('mahi@', `${user}@`)
    const [owner, service] = [urlOf('mahi_owner:owner'), urlOf('mahi:service')]
    const mahi = new Installation({ inProcesses: true })
    return { cluster, server, owner, service, mahi, machine: new Machine(mahi) }
  }

  test('the service works as a role that cannot change tables, and migrations as their owner', async () => {
    const { owner, service, mahi } = await startServer()
    const environment = { DATABASE_URL: service }
    for (const early of [['migrate'], ['serve', '--port', '0']]) {
      const { code, stderr } = await mahi.run(early, { environment: { ...environment, METRICS_PORT: '0' } })
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('Run "mahi migrate" with the DATABASE_URL of their owner'),
      ])
    }
    await mahi.runJson(['migrate'], { environment: { DATABASE_URL: owner } })
    const { headers, questions } = await fillDatabase(service)
    const { url } = await mahi.serve(environment)
    for (const { path } of questions) expect((await ask(url + path, { ...headers })).status).toBe(200)
    for (const sql of [
      ...['create table other (a int)', 'drop table api_key', 'alter table api_key add column a int'],
      ...['truncate api_key', 'update activity set event = event', 'truncate activity', 'create role other'],
    ]) {
      const psql = spawnSync('psql', [service, '-c', sql], { encoding: 'utf8' })
      expect([sql, psql.stderr]).toEqual([sql, expect.stringMatching(/permission denied|must be owner/)])
    }
  })

  async function start() {
    const started = await startServer()
    const { owner, service, mahi } = started
    await mahi.runJson(['migrate'], { environment: { DATABASE_URL: owner } })
    const filled = await fillDatabase(service)
    const { key } = await create(service)
    return { ...started, filled, key, before: await withDatabase(service, readState) }
  }

  test('docs/operations.md, "Backups" and "Restoring"', async () => {
    const { server, service, mahi, machine, filled, key, before } = await start()
    const environment = { ...server, DATABASE_URL: service }
    const [, backup = ''] = blocksOf('docs/operations.md', 'Backups')
    await machine.run(backup, environment)
    expect((await mahi.run(['status'], { environment })).stdout).toMatch(/^Backup +\S+, by pg_dump$/m)
    await changeSince(mahi, service, filled.token, filled.keyId)
    const [, restore = ''] = blocksOf('docs/operations.md', 'Restoring')
    await machine.run(restore.replace('deploy/postgres', `${ROOT}deploy/postgres`), environment)
    await expectRestored(service, before, filled)
    await expectServed(mahi, { DATABASE_URL: service }, key)
  })

  test('docs/operations.md, "Moving to another database", into one of these roles', async () => {
    const { owner, service, mahi, machine } = await startServer()
    const url = `sqlite:${mahi.folder}/mahi.db`
    await fillDatabase(url)
    const { key } = await create(url)
    const before = await withDatabase(url, readState)
    const [copy = ''] = blocksOf('docs/operations.md', 'Moving to another database')
    await machine.run(
      copy.replace('sqlite:/var/lib/mahi/mahi.db', url).replace('postgres://mahi_owner@db/mahi', owner),
    )
    expect((await withDatabase(service, readState)).catalogue).toEqual(before.catalogue)
    await expectServed(mahi, { DATABASE_URL: service }, key)
  })

  /** Describes the services of Compose to a machine; backups are in the folder of its installation. */
  function describeServices({ cluster, server, mahi, machine }: Awaited<ReturnType<typeof startServer>>) {
    const passwords: Record<string, string> = {
      POSTGRES_PASSWORD: 'superuser',
      OWNER_PASSWORD: 'owner',
      MAHI_PASSWORD: 'service',
    }
    const text = readRepositoryFile('deploy/compose.yaml')
    const { services } = readYaml<{ services: Record<string, { environment?: Record<string, string> }> }>(
      'deploy/compose.yaml',
      text
        .replaceAll(/\$\{(\w+)[^}]*\}/g, (_, name: string) => passwords[name] ?? '')
        .replaceAll('@postgres:5432', `@127.0.0.1:${cluster.port}`),
    )
    const backups = join(mahi.folder, 'backups')
    mkdirSync(backups)
    for (const name of ['postgres', 'backup', 'migrate', 'cli']) {
      const { environment = {} } = services[name] ?? {}
      machine.describe(name, {
        ...environment,
        ...server,
        ...(name === 'backup' && { BACKUP_FOLDER: backups }),
      })
    }
  }

  test('deploy/README.md, "One machine", and a new version', async () => {
    const started = await startServer()
    const { service, mahi, machine } = started
    describeServices(started)
    const input = mahi.write('occupations.ndjson', '{"occupationCode":"1","titleEnglish":"One"}\n')
    mkdirSync(join(mahi.folder, 'deploy'))
    for (const name of ['.env.example', 'mahi.env.example'])
      mahi.write(`deploy/${name}`, readRepositoryFile(`deploy/${name}`))
    const [first = '', newer = ''] = blocksOf(
      'deploy/README.md',
      'One machine: proxy, two replicas, a worker, PostgreSQL, Redis',
    )
    // Starting the services migrates first.
    await machine.run(newer)
    await machine.run(first.replace('< occupations.ndjson', `< ${input}`))
    expect(readFileSync(join(mahi.folder, 'calls'), 'utf8')).toBe(
      `build \n${['mahi-1', 'mahi-2', 'worker'].map((name) => `up -d --no-deps --wait ${name}\n`).join('')}up -d --build\n`,
    )
    expect(await withDatabase(service, exportText)).toContain('"titleEnglish":"One"')
    const keys = await withDatabase(service, listKeys)
    expect(keys.map(({ client }) => client)).toEqual(['NAME'])
  })

  test('docs/scale.md, "Partitions"', async () => {
    const { owner, service, filled, key, before, mahi, machine } = await start()
    const [divide = ''] = blocksOf('docs/scale.md', 'Partitions')
    await machine.run(
      divide.replace('postgres://mahi_owner@db/mahi', owner).replace('deploy/', `${ROOT}deploy/`),
    )
    const { tables, ...rest } = await withDatabase(service, readState)
    expect(rest).toEqual({ ...before, tables: undefined })
    expect(tables).toContain('result_block_15')
    await changeSince(mahi, service, filled.token, filled.keyId)
    await expectServed(mahi, { DATABASE_URL: service }, key)
  })

  test('deploy/README.md, "A backup with Compose"', async () => {
    const started = await start()
    const { cluster, service, mahi, machine, filled, key, before } = started
    describeServices(started)
    const [backup = '', restore = '', remove = ''] = blocksOf('deploy/README.md', 'A backup with Compose')
    await machine.run(backup)
    await changeSince(mahi, service, filled.token, filled.keyId)
    await machine.run(restore)
    expect(readFileSync(join(mahi.folder, 'calls'), 'utf8')).toBe('stop mahi-1 mahi-2 worker\nup -d --wait\n')
    await expectRestored(service, before, filled)
    await expectServed(mahi, { DATABASE_URL: service }, key)
    const databases = async () =>
      (
        await cluster.query<{ name: string }>(
          `select datname as name from pg_database where datname like 'mahi%'`,
        )
      ).map(({ name }) => name)
    expect((await databases()).sort()).toEqual(['mahi', 'mahi_replaced'])
    await machine.run(remove)
    expect(await databases()).toEqual(['mahi'])
  })
})
