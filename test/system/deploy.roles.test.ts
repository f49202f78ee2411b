import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation } from '../support/command.ts'
import { ROOT } from '../support/deploy.ts'
import { ask } from '../support/load.ts'
import { requireProgram } from '../support/require-program.ts'

const canMakeRoles = requireProgram(
  hasCluster && spawnSync('psql', ['--version']).status === 0,
  'the roles of deploy/postgres',
  'there is no PostgreSQL, or psql is not installed',
)

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

test.skipIf(!canMakeRoles)(
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

    const mahi = new Installation({ inProcesses: true })
    const owner = { DATABASE_URL: cluster.url('mahi').replace('mahi@', 'mahi_owner:owner@') }
    const environment = { DATABASE_URL: cluster.url('mahi').replace('mahi@', 'mahi:service@') }
    for (const early of [['migrate'], ['serve', '--port', '0']]) {
      const { code, stderr } = await mahi.run(early, { environment: { ...environment, METRICS_PORT: '0' } })
      expect([early, code, stderr]).toEqual([
        early,
        1,
        expect.stringContaining('Run "mahi migrate" with the DATABASE_URL of their owner'),
      ])
    }
    await mahi.runJson(['migrate'], { environment: owner })
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
      'update activity set event = event',
      'truncate activity',
      'create role other',
    ]) {
      await expect(runAs(cluster, 'mahi', sql)).rejects.toThrow(/permission denied|must be owner/)
    }
  },
)
