import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { ask, Installation } from '../support/command.ts'
import { ROOT, readDockerfile, readRepositoryFile } from '../support/deploy.ts'
import { fillDatabase } from '../support/filled-database.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const testDump = testWhere(
  hasCluster && spawnSync('pg_dump', ['--version']).status === 0,
  'there is no PostgreSQL, or pg_dump is not installed: the backup service of compose.yaml',
)

testDump('the backup service of compose.yaml dumps, keeps, records, and says when it fails', async () => {
  const cluster = await Cluster.start()
  onTestFinished(() => cluster.remove())
  const url = await cluster.createDatabase('mahi')
  await fillDatabase(url)
  const mahi = new Installation()
  const environment = { DATABASE_URL: url }
  const folder = temporaryFolder()
  for (let day = 10; day < 26; day++) writeFileSync(join(folder, `mahi-202601${day}T023000Z.backup`), '')
  const { username, hostname, port } = new URL(url)
  const run = () =>
    spawnSync('bash', [join(ROOT, 'deploy/postgres/backup.sh'), 'once'], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: username,
        PGDATABASE: 'mahi',
        BACKUP_FOLDER: folder,
      },
    })
  const made = run()
  expect([made.status, made.stderr]).toEqual([0, ''])
  const kept = readdirSync(folder).sort()
  expect([kept.length, kept[0]]).toEqual([14, 'mahi-20260113T023000Z.backup'])
  const status = async () => (await mahi.run(['status'], { environment })).stdout
  expect(await status()).toMatch(/^Backup +\d{4}-\S+, [\d.]+ MiB, by pg_dump$/m)

  await mahi.runJson(['occupations', 'import', '--replace', '-'], {
    input: '{"occupationCode":"ONLY"}\n',
    environment,
  })
  await mahi.runJson(['restore', '--replace', join(folder, kept.at(-1) ?? '')], { environment })
  expect(await mahi.runJson(['status'], { environment })).toMatchObject({ occupations: 60 })

  // A disk that is gone: the earlier dumps are not touched, and the next night works again.
  chmodSync(folder, 0o755)
  const elsewhere = `${folder}.away`
  spawnSync('mv', [folder, elsewhere])
  writeFileSync(folder, '')
  const failed = run()
  expect([failed.status, failed.stderr]).toEqual([
    1,
    expect.stringMatching(/No backup was written; earlier ones are unchanged\. Correct what is above/),
  ])
  expect(await status()).toMatch(
    /^Backup +\d{4}-\S+, [\d.]+ MiB, by pg_dump; failed on \S+: pg_dump failed: its log says why$/m,
  )
  rmSync(folder)
  spawnSync('mv', [elsewhere, folder])
  expect(run().status).toBe(0)
  expect(await status()).not.toContain('failed on')
})

/** The container of the guide without Docker: the user, the environment and the commands of the image, and its two volumes. */
class OneContainer {
  readonly data: string
  readonly backup: string
  readonly #mahi = new Installation()
  readonly #environment: Record<string, string>
  readonly #user: number

  constructor() {
    const { instructions = [] } = readDockerfile('deploy/Dockerfile').at(-1) ?? {}
    const wordsOf = (name: string) => instructions.find((each) => each.name === name)?.words ?? []
    this.#user = Number(wordsOf('USER')[0]?.split(':')[0])
    const root = temporaryFolder()
    chmodSync(root, 0o755)
    chmodSync(this.#mahi.folder, 0o755)
    this.data = join(root, 'data')
    this.backup = join(root, 'backup')
    const own = instructions.find(({ flags }) => flags.chown !== undefined)?.flags.chown?.split(':') ?? []
    for (const folder of [this.data, this.backup]) {
      mkdirSync(folder)
      chownSync(folder, Number(own[0]), Number(own[1]))
    }
    const settings = wordsOf('ENV').map((word) => this.#place(word).split(/=(.*)/, 2))
    // Other tests listen as well.
    this.#environment = { ...Object.fromEntries(settings), PORT: '0' }
  }

  /** A path of the container as one of this machine. */
  #place(text: string): string {
    return text.replace('/data', this.data).replace('/backup', this.backup)
  }

  /** Runs the command of the guide that has this name, by default as the user of the image. */
  async run(name: string, { user = this.#user, input = '' } = {}) {
    const pattern = new RegExp(`^docker run .* mahi (${name} .*?)(?: <.*)?$`, 'm')
    const [, command = ''] = pattern.exec(readRepositoryFile('deploy/README.md')) ?? []
    expect(command).not.toBe('')
    const words = command.split(' ').map((word) => this.#place(word))
    return await this.#mahi.run(words, { environment: this.#environment, user, input })
  }

  async serve() {
    const command = this.#mahi.start(['serve'], { environment: this.#environment, user: this.#user })
    const [, port] = await command.output(/http:\/\/\S+:(\d+)/)
    const stop = async () => {
      command.kill('SIGTERM')
      expect(await command.ended).toMatchObject({ code: 0 })
    }
    return { url: `http://127.0.0.1:${port}`, stop }
  }
}

testWhere(
  process.getuid?.() === 0,
  'only root can run commands as other users: backup and restore in one container',
)(
  'in one container, a backup and its restore work as the user of the image, and others get one sentence',
  async () => {
    const container = new OneContainer()
    const first = await container.serve()
    const key = (await container.run('keys create')).stdout.trim()
    const input = '{"occupationCode":"A"}\n'
    expect(await container.run('occupations import', { input })).toMatchObject({ code: 0 })
    const backup = await container.run('backup')
    expect([backup.code, backup.stderr]).toEqual([0, expect.stringMatching(/^Wrote \S+\/mahi\.backup\.db: /)])
    expect(
      await container.run('occupations import', { input: '{"occupationCode":"LATER"}\n' }),
    ).toMatchObject({ code: 0 })
    await first.stop()

    // Who owns neither the volume nor the backup can do neither, and changes nothing.
    const stranger = 65533
    const made = await container.run('backup', { user: stranger })
    expect([made.code, made.stderr]).toEqual([
      1,
      expect.stringMatching(/^[^\n]*(?:cannot be (?:read|written|opened)|may not)[^\n]*\n$/),
    ])
    const refused = await container.run('restore', { user: stranger })
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^\S+mahi\.backup\.db cannot be read \(EACCES\): run the command as the user that made the backup\. Nothing was changed: nothing was restored, and the service can continue\.\n$/,
      ),
    ])
    expect(readdirSync(container.backup)).toEqual(['mahi.backup.db'])
    expect(statSync(join(container.backup, 'mahi.backup.db')).mode & 0o777).toBe(0o600)

    const restored = await container.run('restore')
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringMatching(/^Restored\. /)])
    const { url, stop } = await container.serve()
    const statusOf = async (code: string) =>
      (await ask(`${url}/v1/occupations/${code}`, { 'x-api-key': key })).status
    expect([await statusOf('A'), await statusOf('LATER')]).toEqual([200, 404])
    await stop()
    for (const name of readdirSync(container.data)) {
      const { uid, mode } = statSync(join(container.data, name))
      expect([name, uid, mode & 0o077]).toEqual([name, 65532, 0])
    }
  },
)
