import type { Command } from 'commander'
import { readRecords } from '../engines/records/index.ts'
import {
  action,
  jsonOption,
  keepHeapSmall,
  type WithDatabase,
  waitingNotice,
} from '../foundation/command-line/command.ts'
import { Progress, say, writeOut } from '../foundation/command-line/terminal.ts'
import type { Database } from '../foundation/database/database.ts'
import type { Sealer } from '../foundation/database/seal.ts'
import { count } from '../foundation/text/format-number.ts'
import { PUBLISHED_COLUMNS, publishResults } from './findings/publish.ts'
import { finishDeletions } from './retention/purge.ts'

interface PublishFlags {
  eid: string
  return: string
  token?: string
  json?: true
}

/** Adds `results publish`, and returns `results` so that others can add subcommands. */
export function addResultsCommands(
  program: Command,
  withDatabase: WithDatabase,
  openSealer: (database: Database) => Promise<Sealer>,
): Command {
  const results = program.command('results').description('publish and fetch validation results')
  results
    .command('publish')
    .description('publish a complete run from an NDJSON, JSON or CSV file and print the token')
    .requiredOption('--eid <eid>', 'the organisation that made the submission')
    .requiredOption('--return <id>', 'the return that the submission belongs to')
    .option('--token <token>', 'token of the submission; by default a new submission is created')
    .addOption(jsonOption)
    .argument('<file>', '- is standard input')
    .action(
      action(async (file: string, { eid, return: returnId, token, json }: PublishFlags) => {
        keepHeapSmall()
        const progress = new Progress('entries', [file])
        let bytes = 0
        const onBytes = (count: number) => {
          bytes += count
          progress.onBytes(count)
        }
        const entries = readRecords([file], { columns: PUBLISHED_COLUMNS, onBytes })
        const summary = await withDatabase(
          async (database) => {
            const published = await publishResults(database, entries, {
              eid,
              returnId,
              sealer: await openSealer(database),
              ...(token === undefined ? {} : { token }),
              onProgress: progress.onRecords,
              onWait: waitingNotice(),
            })
            // An installation that only publishes may have no worker. What is left is deleted after the next publish.
            await finishDeletions(database).catch(() => undefined)
            return published
          },
          { create: true },
        ).finally(() => progress.stop())
        const { runId, totalCount, submissionToken } = summary
        if (!json) {
          say(`Published run ${runId}: ${count(totalCount, 'entry', 'entries')}.`)
          if (totalCount === 0)
            say(
              bytes === 0
                ? 'The file is empty, so the run reports that nothing was found.'
                : `None of the ${count(bytes, 'byte')} of the file is an entry, so the run reports that nothing was found. If that is wrong, publish the right file with --token and this token.`,
            )
        }
        await writeOut(`${json ? JSON.stringify(summary) : submissionToken}\n`)
      }),
    )
  return results
}
