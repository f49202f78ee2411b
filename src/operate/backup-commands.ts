import { type Command, InvalidArgumentError } from 'commander'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { readWhole } from '../foundation/command-line/option-values.ts'
import { openDatabase } from '../foundation/database/open.ts'
import { Sealer } from '../foundation/database/seal.ts'
import { fail } from '../foundation/faults/user-error.ts'
import { count, formatBytes } from '../foundation/text/format-number.ts'
import { findUnchecked, type KeySettings } from '../submissions/encryption/open-sealer.ts'
import { eraseAgain } from '../submissions/retention/erasures.ts'
import { backUp } from './backup.ts'
import { backUpSeries } from './backup-series.ts'
import { keepBackups, recordBackup } from './backups.ts'
import { restore } from './restore.ts'

/** Adds `backup` and `restore`. */
export function addBackupCommands(
  program: Command,
  readSettings: () => KeySettings & { readonly DATABASE_URL: string; readonly ERASURE_LOG?: string },
): void {
  const databaseUrl = () => readSettings().DATABASE_URL
  program
    .command('backup')
    .description('write everything that the database holds into a file, while it is in use')
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
      action(async (file: string | undefined, flags: BackupFlags) => {
        const { keep, madeBy } = flags
        if ((file === undefined) === (madeBy === undefined))
          fail({ field: '<file>', message: 'give the file of the backup, or --made-by PROGRAM' })
        if (file === undefined) return await record(databaseUrl(), madeBy ?? '', flags)
        const backup = await (keep === undefined
          ? backUp(databaseUrl(), file)
          : backUpSeries(databaseUrl(), file, keep))
        await report(
          flags,
          backup,
          `Wrote ${backup.file}: ${formatBytes(backup.bytes)}. Keep it as safe as the database.`,
        )
      }),
    )

  program
    .command('restore')
    .description('put a backup in place of what the database holds')
    .argument('<file>', 'a file that "mahi backup" has written')
    .option('--replace', 'replace a database that holds data')
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { replace?: true; json?: true }) => {
        const settings = readSettings()
        let erased = 0
        await restore(settings.DATABASE_URL, file, {
          replace: flags.replace === true,
          prepare: async (restored, replaced) => {
            await findUnchecked(restored, new Sealer(settings.ENCRYPTION_KEYS))
            await keepBackups(restored, replaced)
            erased = await eraseAgain(restored, replaced, settings.ERASURE_LOG)
          },
        })
        await report(
          flags,
          { file, restored: true, erased },
          `Restored. Changes since the backup are gone, also those that were made during the restore. ${describeErased(erased)}Keys that were revoked after the backup are valid again: see "mahi keys revoke --from-audit".`,
        )
      }),
    )
}

/** Says that submissions stay deleted, if any had been deleted after the backup. */
function describeErased(erased: number): string {
  if (erased === 0) return ''
  return `${count(erased, 'submission')} that had been deleted after the backup ${erased === 1 ? 'was' : 'were'} deleted again. `
}

interface BackupFlags {
  keep?: number
  madeBy?: string
  json?: true
}

async function record(url: string, program: string, flags: BackupFlags): Promise<void> {
  const database = await openDatabase(url, { existing: true })
  try {
    await recordBackup(database, { program })
  } finally {
    await database.close()
  }
  await report(flags, { program, recorded: true }, `Recorded a backup by ${program}.`)
}

function readProgram(text: string): string {
  if (/^[\w.-]{1,32}$/.test(text)) return text
  throw new InvalidArgumentError('It must be a name of 1 to 32 letters, digits, dots and hyphens.')
}
