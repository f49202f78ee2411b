import type { Command } from 'commander'
import { COMMAND } from '../api/access/principal.ts'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import { count } from '../foundation/text/format-number.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { cancelSubmission } from './retention/ending.ts'
import type { RecordErasure } from './submission/options.ts'
import { findByToken, listAll, type SubmissionState } from './submission/submission.ts'

/** Adds the commands for submissions that access the database directly, and returns their group. */
export function addSubmissionCommands(
  program: Command,
  withDatabase: WithDatabase,
  recordErasure: () => RecordErasure,
): Command {
  const submissions = program
    .command('submissions')
    .description('list, show, delete, purge, explain and submit submissions')

  submissions
    .command('list')
    .description('list submissions, newest first, without their data')
    .option('--eid <eid>', 'only those of one organisation')
    .addOption(jsonOption)
    .action(
      action(async ({ eid, json }: { eid?: string; json?: true }) => {
        const rows = (await withDatabase((database) => listAll(database, eid))).map(describe)
        if (json) return writeOut(`${JSON.stringify({ submissions: rows })}\n`)
        for (const { submissionToken, eid: of, returnId, submissionStatus, dateCreated } of rows) {
          const columns = [submissionToken, of, returnId, submissionStatus, dateCreated]
          await writeOut(`${columns.join('  ')}\n`)
        }
        if (rows.length === 0) say('There are no submissions.')
      }),
    )

  submissions
    .command('show')
    .description('show the state of a submission, its files and its last run, without their data')
    .argument('<token>', 'the token of the submission')
    .addOption(jsonOption)
    .action(
      action(async (token: string) => {
        const found = await withDatabase((database) => findByToken(database, token))
        const { files, lastRun } = found
        const shown = {
          ...describe(found),
          files: files.map(({ resource, records, bytes, sha256, received }) => ({
            file: resource,
            records,
            bytes,
            sha256,
            received: formatTimestamp(received),
          })),
          validationRun: lastRun && {
            runId: lastRun.number,
            status: lastRun.status,
            errorCount: lastRun.errors,
            warningCount: lastRun.warnings,
            reason: lastRun.reason,
          },
        }
        await writeOut(`${JSON.stringify(shown, null, 2)}\n`)
      }),
    )

  submissions
    .command('delete')
    .description('cancel a submission; its data is unreadable at once, and a worker deletes it')
    .argument('<token>', 'the token of the submission')
    .addOption(jsonOption)
    .action(
      action(async (token: string, flags: { json?: true }) => {
        const { eid } = await withDatabase(async (database) => {
          const submission = await findByToken(database, token)
          return await cancelSubmission(database, { ...submission, actor: COMMAND }, recordErasure())
        })
        const summary = { submissionToken: token, eid, submissionStatus: 'Cancelled' }
        await report(
          flags,
          summary,
          'The submission is cancelled. A worker deletes what is left of its data.',
        )
      }),
    )

  submissions
    .command('purge')
    .description('delete the data of cancelled submissions now, without a worker')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const purged = await withDatabase(async (database) => {
          const { sweep } = await import('./retention/sweep.ts')
          return await sweep(database)
        })
        await report(
          flags,
          { purged },
          purged === 0
            ? 'No data of cancelled submissions is left.'
            : `The data of ${count(purged, 'cancelled submission')} is deleted.`,
        )
      }),
    )

  return submissions
}

function describe({ token, eid, returnId, status, created, published }: SubmissionState) {
  return {
    submissionToken: token,
    eid,
    returnId,
    submissionStatus: status,
    dateCreated: formatTimestamp(created ?? published),
  }
}
