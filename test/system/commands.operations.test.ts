import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Installation, MAHI, type Outcome, until } from '../support/command.ts'
import { fillDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { describeTables, NOT_RESTORED } from '../support/state.ts'
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
  test('backups and each way to restore them', { timeout: 180_000 }, async () => {
    const mahi = new Installation({ inProcesses: true })
    const { headers, keyId } = await fillDatabase(mahi.databaseUrl)
    const service = await mahi.serve()
    const before = await describeTables(mahi.databaseUrl, NOT_RESTORED)
    const catalogue = await mahi.catalogue()

    await runShell(mahi, blockOf('Backups'))
    expect(mahi.read('catalogue.ndjson')).toBe(catalogue)
    await runShell(mahi, commandFor('Backups', 'cron').replace('FOLDER', 'backups'))

    const empty = new Installation({ inProcesses: true })
    mkdirSync(empty.folder, { recursive: true })
    copyFileSync(join(mahi.folder, 'catalogue.ndjson'), join(empty.folder, 'catalogue.ndjson'))
    await empty.migrate()
    await runShell(empty, commandFor('Restoring', 'an export, into an empty database'))
    expect(await empty.catalogue()).toBe(catalogue)

    // What goes wrong after the backup: a record is changed, one is added, and a key is revoked.
    const [first = ''] = catalogue.split('\n')
    const { occupationCode } = JSON.parse(first) as { occupationCode: string }
    mahi.write('wrong.ndjson', `{"occupationCode":"${occupationCode}"}\n{"occupationCode":"ADDED"}\n`)
    await runShell(mahi, `mahi occupations import wrong.ndjson; mahi keys revoke ${keyId}`)
    await until(async () =>
      (await statusOf(`${service.url}/v1/occupations`, headers)) === 401 ? true : undefined,
    )

    await runShell(mahi, commandFor('Restoring', 'an export, into a catalogue in use'))
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

    await runShell(mahi, commandFor('Restoring', 'a file of `mahi backup`'))
    expect(await describeTables(mahi.databaseUrl, NOT_RESTORED)).toEqual(before)
    await until(async () =>
      (await statusOf(`${service.url}/v1/occupations`, headers)) === 200 ? true : undefined,
    )

    // The key that was revoked after the backup is valid again, until the log has been read.
    mahi.write('service.log', service.command.stdout)
    const [revoke = ''] = /mahi keys revoke --from-audit FILE/.exec(sectionOf('Restoring')) ?? []
    await runShell(mahi, revoke.replace('FILE', 'service.log'))
    await until(async () =>
      (await statusOf(`${service.url}/v1/occupations`, headers)) === 401 ? true : undefined,
    )
  })

  test.skipIf(engine !== 'sqlite')(
    'a SQLite backup in place of the file, and a trial beside the service',
    async () => {
      const mahi = new Installation({ inProcesses: true })
      const folder = mahi.databaseUrl.replace(/^sqlite:/, '').replace(/\/[^/]*$/, '')
      const database = `sqlite:${folder}/mahi.db`
      const environment = { DATABASE_URL: database }
      const { headers } = await fillDatabase(database)
      const before = await describeTables(database, NOT_RESTORED)
      await runShell(mahi, 'mahi backup mahi.backup', environment)
      await runShell(mahi, `echo '{"occupationCode":"LATER"}' | mahi occupations import -`, environment)

      const service = await mahi.serve(environment)
      const [trial = ''] =
        /DATABASE_URL=sqlite:\/tmp\/trial\.db mahi serve --port 0/.exec(sectionOf('Restoring')) ?? []
      expect(trial).not.toBe('')
      copyFileSync(join(mahi.folder, 'mahi.backup'), join(mahi.folder, 'trial.db'))
      const tried = mahi.spawn('bash', ['-c', `exec env ${trial.replace('/tmp', mahi.folder)}`], {
        environment: { PATH: `${installCommand()}:${process.env.PATH}`, METRICS_PORT: '9464' },
      })
      const [url] = await tried.output(/http:\/\/127\.0\.0\.1:\d+/)
      const count = async (address: string) =>
        (JSON.parse((await ask(`${address}/v1/occupations`, headers)).body) as { totalCount: number })
          .totalCount
      expect([await count(url), await count(service.url)]).toEqual([60, 61])
      for (const { child, ended } of [tried, service.command]) {
        child.kill()
        await ended
      }

      const row =
        sectionOf('Restoring')
          .split('\n')
          .find((each) => each.startsWith('| a SQLite backup |')) ?? ''
      const files = [...row.matchAll(/`(mahi\.db[^`]*)`/g)].map(([, file]) => file)
      expect(files).toEqual(['mahi.db', 'mahi.db-wal', 'mahi.db-shm', 'mahi.db'])
      await runShell(
        mahi,
        `cd ${folder}; rm -f ${files.slice(0, 3).join(' ')}; cp ${mahi.folder}/mahi.backup mahi.db`,
      )
      expect(await describeTables(database, NOT_RESTORED)).toEqual(before)
    },
  )

  test('moving to another database', async () => {
    const mahi = new Installation({ inProcesses: true })
    const [from, to] = [`sqlite:${temporaryFolder()}/mahi.db`, temporaryDatabaseUrl()]
    const { headers } = await fillDatabase(from)
    const command = blockOf('Moving to another database')
      .replace('sqlite:/srv/mahi/mahi.db', `'${from}'`)
      .replace('postgres://mahi@db/mahi', `'${to}'`)
    expect(command).toContain(from)
    const { stdout, stderr } = await runShell(mahi, command)
    expect(stdout + stderr).toMatch(/\boccupation\D+60\b/)
    const { url } = await mahi.serve({ DATABASE_URL: to })
    expect(await statusOf(`${url}/v1/occupations`, headers)).toBe(200)
  })

  test('a rolling restart: there is always a process that serves', { timeout: 120_000 }, async () => {
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
