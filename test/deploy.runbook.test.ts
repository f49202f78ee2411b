import { expect, test } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { Installation } from './support/command.ts'
import { readRepositoryFile, readYaml } from './support/deploy.ts'
import { fillDatabase, withDatabase } from './support/filled-database.ts'

interface Rules {
  groups: { rules: { alert: string; annotations: Record<string, string> }[] }[]
}

const rules = readYaml<Rules>('deploy/monitoring/alerts.yaml').groups.flatMap((group) => group.rules)
const runbook = readRepositoryFile('docs/runbook.md')

/** The procedures by the name of their alert. */
const procedures = new Map(
  runbook
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
)

/** The commands of Mahi in a text. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/`(mahi (?:-|[a-z])[^`]*)`/g)].map(([, command = '']) => command)
}

test('each alert links to its procedure, whose steps are numbered, and no procedure is without an alert', () => {
  expect([...procedures.keys()]).toEqual(rules.map(({ alert }) => alert))
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    const steps = [...(procedures.get(alert) ?? '').matchAll(/^(\d+)\. /gm)].map(([, step]) => Number(step))
    expect(steps, alert).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1))
    expect(steps.length, alert).toBeGreaterThan(2)
  }
})

/** Processes that run until they are stopped: other tests run them. */
const LASTING = ['mahi serve', 'mahi work']
/** It needs files and a service. */
const REMOTE = ['mahi submit']

test('every command of the procedures exists, and works on a service in trouble', async () => {
  const mahi = new Installation()
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

test('MahiNoWorker, MahiKeysExpire and MahiSearchBehind end by their procedures', async () => {
  const mahi = new Installation()
  await fillDatabase(mahi.databaseUrl)
  const { id } = await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'soon', expires: Date.now() + 86_400_000 }),
  )
  const status = async () => await mahi.run(['status'])
  expect((await status()).stdout).toMatch(/^Expiring .*soon/m)
  expect((await status()).stdout).toMatch(/^Search index +not built yet/m)

  // MahiKeysExpire
  const rotated = (await mahi.runJson(['keys', 'rotate', id, '--overlap', '30'])) as { id: string }
  await mahi.run(['keys', 'revoke', id])
  expect(rotated.id).not.toBe(id)
  expect((await status()).stdout).not.toMatch(/^Expiring .*soon/m)

  // MahiSearchBehind, whose last step is MahiNoWorker
  const worker = mahi.start(['work'])
  for (let built = false; !built; ) built = /^Search index +[\d.]+ MiB/m.test((await status()).stdout)
  worker.kill('SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 0 })
  expect((await status()).stdout).toMatch(/^Queue +0 waiting, 0 running/m)
})
