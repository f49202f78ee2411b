import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { readRecords } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress, say, writeOut } from '../../foundation/command-line/terminal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { Retention } from '../history/revision-log.ts'
import { applyConfirmed, confirmDecisions, describeConfirmed, readReviewer, withReviewer } from './confirm.ts'
import { DECISION_COLUMNS, readDecisions, UNKNOWN } from './decision-files.ts'
import {
  countTitles,
  keyOfTitle,
  listReviewers,
  type ReviewedTitle,
  readAllTitles,
  readTitles,
  STATES,
  type State,
  withdraw,
} from './decisions.ts'
import { renderTitle } from './schema.ts'

const EXPORT_COLUMNS = ['title', 'decision', 'language', 'state', 'reviewer', 'decided']

/** Adds `occupations codings`: what reviewers have decided about job titles. */
export function addCodingCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  const codings = occupations.command('codings').description('what reviewers have decided about job titles')

  codings
    .command('list')
    .description('count the reviewed titles, and list those in a state')
    .addOption(new Option('--state <state>', 'list the titles in this state').choices([...STATES]))
    .addOption(jsonOption)
    .action(
      action(async (flags: { state?: State; json?: true }) => {
        const { counts, titles } = await withDatabase(
          (database) =>
            database.snapshot(async (reader) => {
              const titles: ReviewedTitle[] = []
              for await (const title of readAllTitles(reader))
                if (title.state === flags.state) titles.push(title)
              return { counts: await countTitles(reader), titles }
            }),
          { existing: true },
        )
        const lines = titles.map(
          ({ title, decisions }) =>
            `${quote(title)}: ${decisions.map(({ reviewer, code }) => `${code ?? UNKNOWN} (${quote(reviewer)})`).join(', ')}`,
        )
        const summary = STATES.map((state) => `${counts[state]} ${state}`).join(', ')
        await report(
          flags,
          { ...counts, titles: titles.map(renderTitle) },
          [...lines, `Reviewed titles: ${summary}.`].join('\n'),
        )
      }),
    )

  codings
    .command('export')
    .description('print all decisions as CSV, as codings confirm reads them')
    .action(
      action(async () => {
        await withDatabase(
          (database) =>
            database.snapshot(async (reader) => {
              await writeOut(stringify([EXPORT_COLUMNS]))
              for await (const { title, language, state, decisions } of readAllTitles(reader)) {
                const rows = decisions.map(({ reviewer, code, decided }) => [
                  title,
                  code ?? UNKNOWN,
                  language,
                  state,
                  reviewer,
                  formatTimestamp(decided),
                ])
                await writeOut(stringify(rows))
              }
            }),
          { existing: true },
        )
      }),
    )

  withReviewer(codings.command('confirm'))
    .description(
      'store the decisions of files with the columns title and decision: a code, "accept" for the code in the column code, or "unknown"; rows without a decision are ignored',
    )
    .argument('<file...>')
    .addOption(jsonOption)
    .action(
      action(async (files: string[], flags: { reviewer?: string; json?: true }) => {
        const reviewer = readReviewer(flags.reviewer)
        const progress = new Progress('rows', files)
        const records = readRecords(files, {
          columns: DECISION_COLUMNS,
          ignoreUnknown: true,
          onBytes: progress.onBytes,
        })
        const decisions = await readDecisions(records).finally(() => progress.stop())
        const stored = await withDatabase(
          async (database) => {
            const stored = await confirmDecisions(database, reviewer, decisions)
            await applyConfirmed(database, retention())
            return stored
          },
          { existing: true },
        )
        await report(flags, stored, describeConfirmed(stored))
      }),
    )

  withReviewer(codings.command('undo'))
    .description("withdraw a reviewer's decisions about titles, or all of them")
    .argument('[title...]')
    .option('--all', 'withdraw all decisions of the reviewer')
    .addOption(jsonOption)
    .action(
      action(async (titles: string[], flags: { reviewer?: string; all?: true; json?: true }) => {
        if (titles.length > 0 === (flags.all === true)) throw new UserError('Give titles or --all')
        const reviewer = readReviewer(flags.reviewer)
        const withdrawn = await withDatabase(
          async (database) => {
            const count = await database.write('codings', async (writer) => {
              const known = await listReviewers(writer)
              if (!known.includes(reviewer))
                throw new UserError(`${quote(reviewer)} has decided nothing${suggest(reviewer, known)}`)
              if (flags.all) return await withdraw(writer, reviewer)
              return await withdrawTitles(writer, reviewer, titles)
            })
            await applyConfirmed(database, retention())
            return count
          },
          { existing: true },
        )
        const decisions = withdrawn === 1 ? 'decision' : 'decisions'
        await report(flags, { withdrawn }, `Withdrew ${withdrawn} ${decisions} of ${quote(reviewer)}.`)
      }),
    )

  codings
    .command('apply')
    .description('make confirmed titles names of the search now, as every change of the catalogue does')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const names = await withDatabase((database) => applyConfirmed(database, retention()), {
          existing: true,
        })
        if (names.added + names.removed === 0 && !flags.json)
          return say('Every confirmed title is a name already.')
        await report(flags, names, `Confirmed names: ${names.added} added, ${names.removed} removed.`)
      }),
    )
}

/** @throws {UserError} for a title about which the reviewer has decided nothing */
async function withdrawTitles(
  writer: Parameters<typeof withdraw>[0],
  reviewer: string,
  titles: readonly string[],
): Promise<number> {
  const known = new Map((await readTitles(writer, titles)).map((each) => [each.key, each.id]))
  let count = 0
  for (const title of titles) {
    const withdrawn = await withdraw(writer, reviewer, known.get(keyOfTitle(title)) ?? '')
    if (withdrawn === 0) throw new UserError(`${quote(reviewer)} has decided nothing about ${quote(title)}`)
    count += withdrawn
  }
  return count
}
