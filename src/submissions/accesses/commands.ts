import type { Command } from 'commander'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { readTime, readWhole } from '../../foundation/command-line/option-values.ts'
import { writeOut } from '../../foundation/command-line/terminal.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { type AccessRow, pruneAccesses, readAccesses } from './access-log.ts'

const DAY = 86_400_000

interface ExportFlags {
  since: number
  until?: number
  eid?: string
  token?: string
}

/** Adds `audit export` and `audit prune`. */
export function addAuditCommands(program: Command, withDatabase: WithDatabase): void {
  const audit = program.command('audit').description('show who read or changed which submission')
  audit
    .command('export')
    .description('write the accesses to submissions to standard output, as NDJSON')
    .requiredOption('--since <time>', 'from this date or date-time on', readTime)
    .option('--until <time>', 'before this date or date-time', readTime)
    .option('--eid <eid>', 'only accesses to data of this organisation')
    .option('--token <token>', 'only accesses to this submission')
    .action(
      action(async (flags: ExportFlags) => {
        await withDatabase(async (database) => {
          for await (const row of readAccesses(database, flags))
            await writeOut(`${JSON.stringify(describe(row))}\n`)
        })
      }),
    )
  audit
    .command('prune')
    .description('delete old accesses; only the owner of the tables may')
    .requiredOption('--older-than <days>', 'days that are kept', readWhole(1, 36_500))
    .addOption(jsonOption)
    .action(
      action(async ({ olderThan, ...flags }: { olderThan: number; json?: true }) => {
        const before = Date.now() - olderThan * DAY
        const deleted = await withDatabase((database) => pruneAccesses(database, before))
        const text = `Deleted ${deleted} ${deleted === 1 ? 'access' : 'accesses'} from before ${formatTimestamp(before)}.`
        await report(flags, { deleted, before: formatTimestamp(before) }, text)
      }),
    )
}

function describe(row: AccessRow): object {
  const { time, until, times, request, credential, eid, operation, change, submission } = row
  return {
    time: formatTimestamp(time),
    ...(times > 1 && { until: formatTimestamp(until), times }),
    request,
    key: credential,
    eid,
    operation,
    access: change === 1 ? 'change' : 'read',
    ...(submission !== null && { submission }),
  }
}
