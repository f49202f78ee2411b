import { expect, test } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { Installation } from './support/command.ts'
import { alerts } from './support/deploy.ts'
import { fillDatabase, withDatabase } from './support/filled-database.ts'
import { commandsIn, LASTING, procedures, runbook } from './support/runbook.ts'

test('each alert links to its procedure, whose steps are numbered, and no procedure is without an alert', () => {
  expect([...procedures.keys()]).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    const steps = [...(procedures.get(alert) ?? '').matchAll(/^(\d+)\. /gm)].map(([, step]) => Number(step))
    expect(steps, alert).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1))
    expect(steps.length, alert).toBeGreaterThan(2)
  }
})

/** It needs files and a service. */
const REMOTE = ['mahi submit']

test('every command of the procedures exists, and works', async () => {
  const mahi = new Installation()
  const { token } = await fillDatabase(mahi.databaseUrl)
  const created = await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'soon', expires: Date.now() + 86_400_000 }),
  )
  const values: Readonly<Record<string, string>> = {
    KEY_ID: created.id,
    NAME: 'docs',
    TOKEN: token,
    DATE: '2026-01-01',
  }
  const commands = new Set(commandsIn(runbook))
  for (const each of [...LASTING, ...REMOTE]) {
    expect(commands.delete(each), each).toBe(true)
    expect(await mahi.run([...each.split(' ').slice(1), '--help']), each).toMatchObject({ code: 0 })
  }
  expect(commands.size).toBeGreaterThan(8)
  // Revoking comes after everything else that needs the key.
  const revokes = (command: string) => Number(command.includes('revoke'))
  for (const command of [...commands].sort((one, other) => revokes(one) - revokes(other))) {
    const words = command.split(' ').slice(1)
    const outcome = await mahi.run(words.map((word) => values[word] ?? word))
    expect([command, outcome.code, outcome.code === 0 ? '' : outcome.stderr]).toEqual([command, 0, ''])
  }
})
