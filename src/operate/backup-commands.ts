import { type Command, InvalidArgumentError } from 'commander'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { createSealer } from '../foundation/database/seal-keys.ts'
import { keepAccesses } from '../submissions/accesses/access-log.ts'
import { findUnchecked, type KeySettings } from '../submissions/encryption/open-sealer.ts'
import { eraseAgain } from '../submissions/retention/erasures.ts'
import { backUp } from './backup.ts'
import { backUpSeries } from './backup-series.ts'
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
    .argument('<file>', 'the file, which is replaced once the backup is complete')
    .option(
      '--keep <count>',
      'write into the folder <file> instead, name the backup after the time, and keep the newest <count>',
      readKeep,
    )
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { keep?: number; json?: true }) => {
        const { keep } = flags
        const backup = await (keep === undefined
          ? backUp(databaseUrl(), file)
          : backUpSeries(databaseUrl(), file, keep))
        await report(
          flags,
          backup,
          `Wrote ${backup.file}: ${backup.bytes} bytes. Keep it as safe as the database.`,
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
            await findUnchecked(restored, createSealer(settings))
            await keepAccesses(restored, replaced)
            erased = await eraseAgain(restored, replaced, settings.ERASURE_LOG)
          },
        })
        await report(
          flags,
          { file, restored: true, erased },
          `Restored. Submissions that were deleted after the backup, and were deleted again: ${erased}. Keys that were revoked after the backup are valid again: see "mahi keys revoke --from-audit".`,
        )
      }),
    )
}

function readKeep(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`It must be a whole number from 1 to 999999, not "${text}".`)
}
