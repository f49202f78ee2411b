import { expect, test } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { Installation } from './support/command.ts'
import { alerts, readRepositoryFile } from './support/deploy.ts'
import { fillDatabase, withDatabase } from './support/filled-database.ts'

const runbook = readRepositoryFile('docs/runbook.md')

/** The procedures by the name of their alert. */
const procedures = new Map(
  runbook
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', section]),
)

/** The commands of the procedures. */
const commands = new Set(
  [...runbook.matchAll(/`(mahi (?:-|[a-z'])[^`]+)`/g)].map(([, command = '']) => command),
)

/** Processes that run until they are stopped, and a command that needs files and a service. */
const ONLY_HELP = ['mahi serve', 'mahi work', 'mahi submit']

test('each alert links to its procedure, whose steps are numbered, and no procedure is without an alert', () => {
  expect([...procedures.keys()]).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    const steps = [...(procedures.get(alert) ?? '').matchAll(/^(\d+)\. /gm)].map(([, step]) => Number(step))
    expect(steps, alert).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1))
    expect(steps.length, alert).toBeGreaterThan(2)
  }
})

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
  for (const each of ONLY_HELP) {
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
