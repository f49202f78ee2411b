import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Installation, MAHI, type Outcome, until } from '../support/command.ts'
import { fillDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { engine, temporaryDatabaseUrl, temporaryFolder } from '../support/temporary.ts'

/** The procedures of docs/operations.md, run as an operator would: the commands are read from the document. */
const document = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')

/** The text under a heading, up to the next one. */
function sectionOf(heading: string): string {
  const [, after] = document.split(new RegExp(`^#+ ${heading}$`, 'm'), 2)
  if (after === undefined) throw new Error(`docs/operations.md has no section "${heading}"`)
  return after.split(/^#+ /m, 1)[0] ?? ''
}

/** The one fenced block of commands in a section. */
function blockOf(heading: string): string {
  const [, block, ...more] = sectionOf(heading).split(/^```(?:sh)?$/m)
  if (block === undefined || more.length !== 1) throw new Error(`"${heading}" has not one block of commands`)
  return block
}

/** The first code of the second column, in the row of a table that begins with a text. */
function commandFor(heading: string, row: string): string {
  const line = sectionOf(heading)
    .split('\n')
    .find((each) => each.startsWith(`| ${row} |`))
  const command = /`([^`]+)`/.exec(line?.split('|')[2] ?? '')?.[1]
  if (command === undefined) throw new Error(`"${heading}" has no command in the row "${row}"`)
  return command
}

/** A folder in which `mahi` is a command, as on a machine on which it is installed. */
function installCommand(): string {
  const folder = temporaryFolder()
  const script = `#!/bin/sh\nexec '${process.execPath}' '${MAHI}' "$@"\n`
  writeFileSync(join(folder, 'mahi'), script, { mode: 0o755 })
  return folder
}

async function runShell(mahi: Installation, commands: string, environment = {}): Promise<Outcome> {
  const outcome = await mahi.spawn('bash', ['-eu', '-o', 'pipefail', '-c', commands], {
    environment: { PATH: `${installCommand()}:${process.env.PATH}`, ...environment },
  }).ended
  expect([commands, outcome.code, outcome.stderr]).toEqual([commands, 0, expect.any(String)])
  return outcome
}

const statusOf = async (url: string, headers: Readonly<Record<string, string>> = {}) =>
  (await ask(url, headers)).status

describe('docs/operations.md, step by step', () => {
  test.skipIf(engine !== 'sqlite')(
    'a nightly backup with cron, and a trial of it beside the service',
    async () => {
      const mahi = new Installation({ inProcesses: true })
      const { headers } = await fillDatabase(mahi.databaseUrl)
      await runShell(mahi, commandFor('Backups', 'cron').replace('FOLDER', 'backups'))
      await runShell(mahi, `echo '{"occupationCode":"LATER"}' | mahi occupations import -`)
      const service = await mahi.serve()
      const [trial = ''] = /DATABASE_URL=sqlite:\/tmp\/trial\.db mahi serve --port 0/.exec(document) ?? []
      expect(trial).not.toBe('')
      const [backup = ''] = readdirSync(join(mahi.folder, 'backups'))
      copyFileSync(join(mahi.folder, 'backups', backup), join(mahi.folder, 'trial.db'))
      const tried = mahi.spawn('bash', ['-c', `exec env ${trial.replace('/tmp', mahi.folder)}`], {
        environment: { PATH: `${installCommand()}:${process.env.PATH}`, METRICS_PORT: '9464' },
      })
      const [url] = await tried.output(/http:\/\/127\.0\.0\.1:\d+/)
      const count = async (address: string) =>
        (JSON.parse((await ask(`${address}/v1/occupations`, headers)).body) as { totalCount: number })
          .totalCount
      expect([await count(url), await count(service.url)]).toEqual([60, 61])
    },
  )

  test('an export, into an empty database and into a catalogue in use', async () => {
    const mahi = new Installation({ inProcesses: true })
    await fillDatabase(mahi.databaseUrl)
    const catalogue = await mahi.catalogue()
    const [, exporting = '', importing = ''] =
      /`(mahi occupations export [^`]*)`[^`]*`(mahi occupations import [^`]*)`/.exec(sectionOf('Backups')) ??
      []
    expect(importing).toContain(' --keep-dates ')
    await runShell(mahi, exporting)
    expect(mahi.read('catalogue.ndjson')).toBe(catalogue)

    const empty = new Installation({ inProcesses: true })
    copyFileSync(join(mahi.folder, 'catalogue.ndjson'), join(empty.folder, 'catalogue.ndjson'))
    await empty.migrate()
    await runShell(empty, importing)
    expect(await empty.catalogue()).toBe(catalogue)

    const [first = ''] = catalogue.split('\n')
    const { occupationCode } = JSON.parse(first) as { occupationCode: string }
    mahi.write('wrong.ndjson', `{"occupationCode":"${occupationCode}"}\n{"occupationCode":"ADDED"}\n`)
    await runShell(mahi, 'mahi occupations import wrong.ndjson')
    await runShell(mahi, importing.replace('--keep-dates ', ''))
    const dated = (text: string) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { lastUpdatedDate: string })
    const [then, now] = [dated(catalogue), dated(await mahi.catalogue())]
    const undated = (records: readonly object[]) => records.map((each) => ({ ...each, lastUpdatedDate: '' }))
    expect(undated(now)).toEqual(undated(then))
    expect(now.map(({ lastUpdatedDate }, index) => lastUpdatedDate === then[index]?.lastUpdatedDate)).toEqual(
      now.map((_, index) => index > 0),
    )
  })

  test('moving to another database', async () => {
    const mahi = new Installation({ inProcesses: true })
    const [from, to] = [`sqlite:${temporaryFolder()}/mahi.db`, temporaryDatabaseUrl()]
    const { headers } = await fillDatabase(from)
    const command = blockOf('Moving to another database')
      .replace('sqlite:/var/lib/mahi/mahi.db', `'${from}'`)
      .replace('postgres://mahi_owner@db/mahi', `'${to}'`)
    expect(command).toContain(from)
    const { stdout, stderr } = await runShell(mahi, command)
    expect(stdout + stderr).toMatch(/\boccupation\D+60\b/)
    const { url } = await mahi.serve({ DATABASE_URL: to })
    expect(await statusOf(`${url}/v1/occupations`, headers)).toBe(200)
  })

  test('a rolling restart: there is always a process that serves', async () => {
    const mahi = new Installation({ inProcesses: true })
    const { headers } = await fillDatabase(mahi.databaseUrl)
    const [command = ''] = /`(mahi migrate)`/.exec(sectionOf('A rolling restart'))?.slice(1) ?? []
    const running = [await mahi.serve({ DRAIN_SECONDS: '1' }), await mahi.serve({ DRAIN_SECONDS: '1' })]
    await runShell(mahi, command)
    for (const index of [0, 1]) {
      const [old, other] = [running[index], running[1 - index]]
      if (old === undefined || other === undefined) throw new Error('two processes run')
      old.command.child.kill('SIGTERM')
      expect(await statusOf(`${other.url}/v1/occupations`, headers)).toBe(200)
      expect(await old.command.ended).toMatchObject({ code: 0 })
      const next = await mahi.serve({ DRAIN_SECONDS: '1' })
      await until(async () => ((await statusOf(`${next.url}/readyz`)) === 200 ? true : undefined))
      expect(await statusOf(`${next.url}/v1/occupations`, headers)).toBe(200)
      running[index] = next
    }
  })
})
