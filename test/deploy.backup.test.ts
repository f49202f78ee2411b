import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Cluster, hasCluster } from './support/cluster.ts'
import { Installation } from './support/command.ts'
import { ROOT } from './support/deploy.ts'
import { fillDatabase } from './support/filled-database.ts'
import { temporaryFolder } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

const testDump = testWhere(
  hasCluster && spawnSync('pg_dump', ['--version']).status === 0,
  'there is no PostgreSQL, or pg_dump is not installed: the backup service of compose.yaml',
)

testDump(
  'the backup service of compose.yaml dumps, keeps, records, prunes, and says when it fails',
  async () => {
    const cluster = await Cluster.start()
    onTestFinished(() => cluster.remove())
    const url = await cluster.createDatabase('mahi')
    await fillDatabase(url)
    const mahi = new Installation()
    const environment = { DATABASE_URL: url }
    await cluster.query(
      `insert into access_log (time, until, times, request, credential, eid, operation, change)
     values (1, 1, 1, 'old', 'k', '1001', 'get-submission', 0),
       ((extract(epoch from now()) * 1000)::bigint, 1, 1, 'new', 'k', '1001', 'get-submission', 0)`,
      'mahi',
    )
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
    expect(await cluster.query('select request from access_log', 'mahi')).toEqual([{ request: 'new' }])

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
  },
)
