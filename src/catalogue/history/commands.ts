import type { Command } from 'commander'
import { action, jsonOption, type WithDatabase } from '../../foundation/command-line/command.ts'
import { readWhole } from '../../foundation/command-line/option-values.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { describeSuccessors, readRemoved } from '../records/replacements.ts'
import { describeChange, describeRevision } from './describe.ts'
import { assertKept, listDifferences, readRecordAt } from './past.ts'
import { toChange } from './preview.ts'
import { listRevisions, readKept } from './revision-log.ts'

interface Flags {
  json?: true
}

/** The most revisions that the history lists at once. */
const MOST_LISTED = 1_000_000

/** An argument or option with the number of a revision. */
export const REVISION = 'number of a revision, from history'
export const readRevision = readWhole(0, 2 ** 31 - 1)

/** Adds `history`, `diff` and `show` to `occupations`. */
export function addHistoryCommands(occupations: Command, withDatabase: WithDatabase): void {
  occupations
    .command('history')
    .description('list the revisions of the catalogue, newest first, with their commands, files and counts')
    .option('--limit <number>', 'most revisions to list', readWhole(1, MOST_LISTED), 20)
    .addOption(jsonOption)
    .action(
      action(async ({ limit, json }: Flags & { limit: number }) => {
        const revisions = await withDatabase((database) => listRevisions(database, limit))
        if (json) {
          const named = revisions.map((each) => ({ ...each, stored: formatTimestamp(each.stored) }))
          await writeOut(`${JSON.stringify({ revisions: named })}\n`)
        } else {
          for (const [index, revision] of revisions.entries())
            await writeOut(`${describeRevision(revision, index === 0)}\n`)
        }
      }),
    )

  occupations
    .command('diff')
    .description('show the records and fields that differ between two revisions')
    .argument('<from>', REVISION, readRevision)
    .argument('<to>', REVISION, readRevision)
    .addOption(jsonOption)
    .action(
      action(async (from: number, to: number, { json }: Flags) => {
        const counts = { created: 0, updated: 0, deleted: 0 }
        await withDatabase((database) =>
          database.snapshot(async (reader) => {
            for (const revision of [from, to]) await assertKept(reader, revision)
            if (json) await writeOut(`${JSON.stringify({ from, to }).slice(0, -1)},"records":[`)
            let separator = ''
            for await (const difference of listDifferences(reader, from, to)) {
              const change = toChange(difference.code, difference.before, difference.after)
              counts[change.change]++
              await writeOut(json ? `${separator}${JSON.stringify(change)}` : `${describeChange(change)}\n`)
              separator = ','
            }
            if (json) await writeOut(`],${JSON.stringify(counts).slice(1)}\n`)
          }),
        )
        say(`${counts.created} created, ${counts.updated} updated, ${counts.deleted} deleted.`)
      }),
    )

  occupations
    .command('show')
    .description('print the record of a code, now or as it was in a revision')
    .argument('<code>', 'occupation code')
    .option('--at <revision>', REVISION, readRevision)
    .action(
      action(async (code: string, { at }: { at?: number }) => {
        const document = await withDatabase((database) =>
          database.snapshot(async (reader) => {
            const revision = at ?? (await readKept(reader)).current
            if (at !== undefined) await assertKept(reader, at)
            const found = await readRecordAt(reader, code, revision)
            if (found !== undefined) return found
            const removed = at === undefined ? await readRemoved(reader, code) : undefined
            if (removed === undefined) {
              const when = at === undefined ? '' : ` in revision ${at}`
              throw new UserError(`The catalogue has no code ${quote(code)}${when}`)
            }
            throw new UserError(
              `${quote(code)} was removed on ${formatTimestamp(removed.removed)}${describeSuccessors(removed.replacedBy)}`,
            )
          }),
        )
        await writeOut(`${document}\n`)
      }),
    )
}
