import { describe, expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { Installation, until } from '../support/command.ts'
import { InstallationHere } from '../support/command-here.ts'
import { alerts, readRepositoryFile } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { commandsIn, LASTING, Operator, procedures, runbook, serveWithMetrics } from '../support/runbook.ts'

test('each alert links to its procedure, whose steps are numbered, and no procedure is without an alert', () => {
  expect([...procedures.keys()]).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    const steps = [...(procedures.get(alert) ?? '').matchAll(/^(\d+)\. /gm)].map(([, step]) => Number(step))
    expect(steps, alert).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1))
    expect(steps.length, alert).toBeGreaterThan(2)
    // Its last line says in which test it was carried out.
    const [, file = ''] =
      /^Carried out in \[[\w.-]+\]\(\.\.\/(test\/[\w.-]+)\)/m.exec(procedures.get(alert) ?? '') ?? []
    expect(file, alert).not.toBe('')
    expect(readRepositoryFile(file), alert).toContain(alert)
  }
})

/** It needs files and a service. */
const REMOTE = ['mahi submit']

test('every command of the procedures exists, and works on a service in trouble', async () => {
  const mahi = new InstallationHere()
  await fillDatabase(mahi.databaseUrl)
  const created = await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'soon', expires: Date.now() + 86_400_000 }),
  )
  const published = (await mahi.runJson(['results', 'publish', '--eid', '1', '--return', 'R', '-'], {
    input: '{"localId":"a"}\n',
  })) as { submissionToken: string }
  const values: Readonly<Record<string, string>> = {
    KEY_ID: created.id,
    NAME: 'docs',
    TOKEN: published.submissionToken,
    DATE: '2026-01-01',
  }
  const commands = new Set(commandsIn(runbook))
  for (const each of [...LASTING, ...REMOTE]) {
    expect(commands.delete(each), each).toBe(true)
    expect(await mahi.run([...each.split(' ').slice(1), '--help']), each).toMatchObject({ code: 0 })
  }
  expect(commands.size).toBeGreaterThan(8)
  // Revoking comes after everything else that needs the key.
  const ordered = [...commands].sort(
    (one, other) => Number(/revoke/.test(one)) - Number(/revoke/.test(other)),
  )
  for (const command of ordered) {
    const words = command.split(' ').slice(1)
    const outcome = await mahi.run(words.map((word) => values[word] ?? word))
    expect([command, outcome.code, outcome.code === 0 ? '' : outcome.stderr]).toEqual([command, 0, ''])
  }
})

/** A service in trouble, and the operator who follows a procedure. */
async function startIncident() {
  const mahi = new Installation()
  await fillDatabase(mahi.databaseUrl)
  const { read } = await serveWithMetrics(mahi)
  const operator = new Operator(mahi)
  return { mahi, read, operator }
}

describe('three incidents end by the literal steps of their procedures', () => {
  test('MahiBackupOld: no backup for nine days', async () => {
    const { mahi, read, operator } = await startIncident()
    await withDatabase(mahi.databaseUrl, (database) =>
      database.write('schema', (writer) =>
        writer.run('update migration set applied = applied - $1', [9 * 86_400_000]),
      ),
    )
    await until(async () => ((await read('mahi_backup_age_seconds')) > 26 * 3600 ? true : undefined))
    const { 'mahi status': status } = await operator.follow('MahiBackupOld')
    expect(status).toMatch(/^Backup +\d{4}-\S+.* by mahi$/m)
    await until(async () => ((await read('mahi_backup_age_seconds')) < 26 * 3600 ? true : undefined))
  })

  test('MahiKeysExpire: a key expires tomorrow', async () => {
    const { mahi, read, operator } = await startIncident()
    const { id } = await withDatabase(mahi.databaseUrl, (database) =>
      createKey(database, { client: 'soon', expires: Date.now() + 86_400_000 }),
    )
    await until(async () => ((await read('mahi_keys_expiring')) === 2 ? true : undefined))
    const outputs = await operator.follow('MahiKeysExpire', { KEY_ID: id })
    expect(outputs['mahi keys rotate KEY_ID --overlap 30']).toMatch(/^mahi_/)
    // The other one is that of the service, which this test made for a day.
    await until(async () => ((await read('mahi_keys_expiring')) === 1 ? true : undefined))
  })

  test('MahiNoWorker: jobs wait, and nobody does them', async () => {
    const { mahi, read, operator } = await startIncident()
    const countWaiting = () => read('mahi_jobs_waiting', 'kind="index"')
    await until(async () => ((await countWaiting()) === 1 ? true : undefined))
    await operator.follow('MahiNoWorker')
    await until(async () => ((await countWaiting()) === 0 ? true : undefined))
    // The last step.
    await until(async () =>
      /^Queue +0 waiting, 0 running/m.test((await mahi.run(['status'])).stdout) ? true : undefined,
    )
    expect((await mahi.run(['status'])).stdout).toMatch(/^Search index +[\d.]+ MiB/m)
  })
})
