import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { restore } from '../../src/operate/restore.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation } from '../support/command.ts'
import { ROOT } from '../support/deploy.ts'
import { ask } from '../support/load.ts'
import { temporaryFolder } from '../support/temporary.ts'

const hasPsql = spawnSync('psql', ['--version']).status === 0
if (!hasPsql) process.stderr.write('SKIPPED: psql is not installed: the roles of deploy/postgres\n')

/** Runs statements as a user, who needs no password in a test. */
async function runAs(cluster: Cluster, user: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.url('mahi').replace('mahi@', `${user}@`) })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

async function withoutPreparing(url: string, file: string): Promise<void> {
  await restore(url, file, { replace: true, prepare: async () => undefined })
}

test.skipIf(!hasCluster || !hasPsql)(
  'the service works as a role that cannot change tables, and migrations as their owner',
  async () => {
    const cluster = await Cluster.start()
    onTestFinished(() => cluster.remove())
    await cluster.createDatabase('mahi')
    // The superuser of the test's server has the name of the role.
    await cluster.query('create role postgres superuser login')
    await runAs(cluster, 'postgres', 'alter role mahi rename to administrator')
    const { status, stderr } = spawnSync('sh', [join(ROOT, 'deploy/postgres/roles.sh')], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        PGHOST: '127.0.0.1',
        PGPORT: `${cluster.port}`,
        POSTGRES_USER: 'postgres',
        POSTGRES_DB: 'mahi',
        OWNER_PASSWORD: 'owner',
        MAHI_PASSWORD: 'service',
      },
    })
    expect([status, stderr]).toEqual([0, ''])

    const mahi = new Installation()
    const owner = { DATABASE_URL: cluster.url('mahi').replace('mahi@', 'mahi_owner:owner@') }
    await mahi.runJson(['migrate'], { environment: owner })
    const environment = { DATABASE_URL: cluster.url('mahi').replace('mahi@', 'mahi:service@') }
    await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"A1"}\n', environment })
    const publish = ['results', 'publish', '--eid', '1001', '--return', 'R1', '-']
    const { submissionToken } = (await mahi.runJson(publish, {
      input: '{"localId":"a"}\n',
      environment,
    })) as { submissionToken: string }
    const create = ['keys', 'create', '--client', 'sms', '--eid', '1001']
    const { key } = (await mahi.runJson(create, { environment })) as { key: string }
    const { url } = await mahi.serve(environment)
    for (const path of ['/v1/occupations', `/v1/submissions/${submissionToken}/validation-results`]) {
      expect((await ask(url + path, { 'x-api-key': key, eid: '1001' })).status).toBe(200)
    }
    for (const sql of [
      'create table other (a int)',
      'drop table api_key',
      'alter table api_key add column a int',
      'truncate api_key',
      'update submission_activity set event = event',
      'truncate submission_activity',
      'create role other',
    ]) {
      await expect(runAs(cluster, 'mahi', sql)).rejects.toThrow(/permission denied|must be owner/)
    }

    const backup = join(temporaryFolder(), 'mahi.backup')
    await mahi.runJson(['backup', backup], { environment })
    const restore = ['restore', '--replace', backup]
    const { code, stderr: refusal } = await mahi.run(restore, { environment })
    expect([code, refusal]).toEqual([1, expect.stringContaining('the user mahi does not own the tables')])
    // Privileges are checked before the backup is read.
    const damaged = join(temporaryFolder(), 'damaged.backup')
    writeFileSync(damaged, 'PGDMP')
    const refuse = async ({ DATABASE_URL }: typeof owner) =>
      await withoutPreparing(DATABASE_URL, damaged).catch(({ message }: Error) => message)
    expect(await refuse(environment)).toMatch(
      /^the user mahi does not own the tables in the schema public\. Set DATABASE_URL to the user that migrates the database\. Nothing was changed$/,
    )
    await runAs(cluster, 'postgres', 'revoke create on database mahi from mahi_owner')
    expect(await refuse(owner)).toBe(
      'the user mahi_owner may not create the schema to restore into. Run: grant create on database "mahi" to "mahi_owner". Nothing was changed',
    )
    await runAs(cluster, 'postgres', 'grant create on database "mahi" to "mahi_owner"')
    expect(await refuse(owner)).toMatch(/^pg_restore failed: .*Nothing was changed/)
    await mahi.runJson(restore, { environment: owner })
    expect((await ask(`${url}/v1/occupations`, { 'x-api-key': key })).status).toBe(200)
  },
)
