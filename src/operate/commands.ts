import { type Command, InvalidArgumentError } from 'commander'
import { reportChange } from '../api/access/audit.ts'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { readWhole } from '../foundation/command-line/option-values.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import { fail } from '../foundation/faults/user-error.ts'
import { count, formatBytes } from '../foundation/text/format-number.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { type RestoredSettings, repeatAfterRestore, type Sources } from './after-restore.ts'
import { backUp, backUpSeries } from './backup.ts'
import { recordBackup } from './backups.ts'
import { copyBetween } from './copy.ts'
import type { TriedSettings } from './faults.ts'
import { describeStatus, readStatus } from './status.ts'

/** Adds the commands of an operator, except for those of organisations. */
export function addOperateCommands(
  program: Command,
  withDatabase: WithDatabase,
  readSettings: () => TriedSettings & RestoredSettings,
): void {
  program
    .command('status')
    .description(
      'show the state of the database, and what is wrong with it and the settings; exits 1 if something is bad',
    )
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const status = await readStatus(readSettings())
        if (status.faults.some(({ state }) => state === 'bad')) process.exitCode = 1
        const { version, state, faults } = status
        await writeOut(
          flags.json ? `${JSON.stringify({ version, ...state, faults })}\n` : describeStatus(status),
        )
      }),
    )

  program
    .command('backup')
    .description('write everything that a SQLite database holds into a file, while it is in use')
    .argument('[file]', 'the file, which is replaced once the backup is complete')
    .option(
      '--keep <count>',
      'write into the folder <file> instead, name the backup after the time, and keep the newest <count>',
      readWhole(1, 999_999),
    )
    .option(
      '--made-by <program>',
      'make none, but record that another program has made one just now, so that its age is known',
      readProgram,
    )
    .addOption(jsonOption)
    .action(
      action(async (file: string | undefined, { keep, madeBy, ...flags }: BackupFlags) => {
        if (madeBy !== undefined && file === undefined) {
          await withDatabase((database) => recordBackup(database, { program: madeBy }))
          return await report(flags, { program: madeBy, recorded: true }, `Recorded a backup by ${madeBy}.`)
        }
        if (file === undefined || madeBy !== undefined)
          fail({ field: '<file>', message: 'give the file of the backup, or --made-by PROGRAM' })
        const { DATABASE_URL: url } = readSettings()
        const backup = await (keep === undefined ? backUp(url, file) : backUpSeries(url, file, keep))
        const text = `Wrote ${backup.file}: ${formatBytes(backup.bytes)}. Keep it as safe as the database.`
        await report(flags, backup, text)
      }),
    )

  program
    .command('after-restore')
    .description('erase, revoke and suspend again in a restored database what was since the backup')
    .option(
      '--replaced <database>',
      'the database that the restored one replaces: its URL, its name on the same server, or its file',
    )
    .option('--log <file>', 'the log of the service since the backup; - is standard input')
    .addOption(jsonOption)
    .action(
      action(async ({ json, ...sources }: Sources & { json?: true }) => {
        const settings = readSettings()
        const { erased, revoked, shortened, suspended } = await repeatAfterRestore(settings, sources)
        const reportKeys = (audit: 'revoked' | 'changed', changed: typeof revoked) => {
          for (const { id, client, expires } of changed)
            reportChange({ audit, key: id, client, expires: formatTimestamp(expires) })
          return changed.map(({ id }) => id)
        }
        const keys = reportKeys('revoked', revoked)
        const rotated = reportKeys('changed', shortened)
        for (const eid of suspended) reportChange({ audit: 'suspended', eid })
        if (json) return writeOut(`${JSON.stringify({ erased, revoked: keys, rotated, suspended })}\n`)
        say(
          `Again erased: ${count(erased, 'submission')}. Again revoked: ${count(keys.length, 'key')}. Again ending early: ${count(rotated.length, 'rotated key')}. Again suspended: ${count(suspended.length, 'organisation')}.`,
        )
        if (sources.replaced === undefined && settings.ERASURE_LOG === undefined)
          say('Neither --replaced nor ERASURE_LOG is given, so erased submissions may be back.')
        if (sources.replaced === undefined && sources.log === undefined)
          say(
            'Neither --replaced nor --log is given, so revoked and rotated keys and suspended organisations may be back.',
          )
      }),
    )

  program
    .command('copy')
    .description('copy everything from one database into an empty one, for example from SQLite to PostgreSQL')
    .requiredOption('--from <url>', 'source database, as in DATABASE_URL')
    .requiredOption('--to <url>', 'target database, as in DATABASE_URL')
    .addOption(jsonOption)
    .action(
      action(async ({ from, to, json }: { from: string; to: string; json?: true }) => {
        const tables = await copyBetween(from, to, ({ name, rows }) => {
          if (!json) say(`${name}: ${count(rows, 'row')}`)
        })
        const rows = tables.reduce((sum, table) => sum + table.rows, 0)
        if (json) return writeOut(`${JSON.stringify({ tables, rows })}\n`)
        say(
          `Copied ${count(rows, 'row')} of ${count(tables.length, 'table')}. Counts and digests are equal in both databases.`,
        )
      }),
    )
}

interface BackupFlags {
  keep?: number
  madeBy?: string
  json?: true
}

function readProgram(text: string): string {
  if (/^[\w.-]{1,32}$/.test(text)) return text
  throw new InvalidArgumentError('It must be a name of 1 to 32 letters, digits, dots and hyphens.')
}
