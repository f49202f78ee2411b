import { type Command, InvalidArgumentError } from 'commander'
import {
  action,
  jsonOption,
  report,
  type WithDatabase,
  waitingNotice,
} from '../../foundation/command-line/command.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { describeChange, describePreview, describeRevision } from './describe.ts'
import { assertKept, listDifferences, readRecordAt } from './past.ts'
import { toChange } from './preview.ts'
import { replaceCode } from './replace.ts'
import { describeSuccessors, readRemoved } from './replacements.ts'
import { listRevisions, type Retention, readKept } from './revision-log.ts'
import { rollBack } from './rollback.ts'

interface Flags {
  json?: true
}

/** Adds `history`, `diff`, `rollback`, `show` and `replace` to `occupations`. */
export function addHistoryCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  occupations
    .command('history')
    .description('list the revisions of the catalogue, newest first, with their commands, files and counts')
    .option('--limit <number>', 'most revisions to list', readCount, 20)
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
    .argument('<from>', 'number of a revision, from history', readCount)
    .argument('<to>', 'number of a revision, from history', readCount)
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
    .option('--at <revision>', 'number of a revision, from history', readCount)
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

  occupations
    .command('rollback')
    .description('make a new revision with the content of an old one')
    .argument('<revision>', 'number of a revision, from history', readCount)
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--new-dates', 'give changed records a new lastUpdatedDate rather than their old one')
    .addOption(jsonOption)
    .action(
      action(async (to: number, flags: Flags & { dryRun?: true; newDates?: true }) => {
        const summary = await withDatabase((database) =>
          rollBack(database, to, {
            dryRun: flags.dryRun === true,
            newDates: flags.newDates === true,
            retention: retention(),
            onWait: waitingNotice(),
          }),
        )
        const { created, updated, deleted, revision, changes } = summary
        const counts = `${created} created, ${updated} updated, ${deleted} deleted`
        await report(
          flags,
          summary,
          changes === undefined
            ? `${counts}. The current revision is ${revision}.`
            : `${describePreview(changes, created + updated + deleted)}Would be: ${counts}. Nothing was changed.`,
        )
      }),
    )

  occupations
    .command('replace')
    .description('name the codes that replace another, which is removed if the catalogue still has it')
    .argument('<old>', 'code that is replaced')
    .requiredOption('--by <code...>', 'codes that replace it')
    .option('--dry-run', 'show what would change, and change nothing')
    .addOption(jsonOption)
    .action(
      action(async (old: string, flags: Flags & { by: string[]; dryRun?: true }) => {
        const summary = await withDatabase((database) =>
          replaceCode(database, old, flags.by, {
            dryRun: flags.dryRun === true,
            retention: retention(),
            onWait: waitingNotice(),
          }),
        )
        const { removed, changes } = summary
        const done = `${removed ? 'removed and replaced' : 'replaced'} by ${flags.by.join(', ')}.`
        await report(
          flags,
          summary,
          changes === undefined
            ? `${quote(old)} is ${done}`
            : `${describePreview(changes, changes.length)}${quote(old)} would be ${done} Nothing was changed.`,
        )
      }),
    )
}

function readCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}
