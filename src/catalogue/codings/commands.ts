import type { Command } from 'commander'
import { readRecords, renderForSpreadsheets } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { Retention } from '../history/revision-log.ts'
import { findMissingCodes } from '../records/missing-codes.ts'
import { describeRepaired, withRepaired } from '../records/read-rows.ts'
import { ShownCells } from '../records/shown-cells.ts'
import { applyConfirmed, confirmDecisions, describeConfirmed, readReviewer, withReviewer } from './confirm.ts'
import { DECISION_COLUMNS, readDecisions } from './decision-files.ts'
import { listDecidedCodes, listReviewers, readAllTitles, UNKNOWN } from './decisions.ts'
import { renderTitles } from './render-titles.ts'

const EXPORT_COLUMNS = [
  'title',
  'decision',
  'language',
  'state',
  'reviewer',
  'decided',
  'inCatalogue',
  'replacedBy',
]

/** Adds `occupations codings`: what reviewers have decided about job titles. */
export function addCodingCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  const codings = occupations.command('codings').description('what reviewers have decided about job titles')

  codings
    .command('export')
    .description(
      'print all decisions as CSV with a byte order mark. codings apply restores title, decision and language of a file, as decisions of its reviewer and of now; give each reviewer a file. It refuses codes that are no longer in the catalogue: the column inCatalogue says no, and replacedBy names successors',
    )
    .option('--reviewer <name>', 'print the decisions of this reviewer only')
    .action(
      action(async (flags: { reviewer?: string }) => {
        const only = flags.reviewer === undefined ? undefined : readReviewer(flags.reviewer)
        await withDatabase((database) =>
          database.snapshot(async (reader) => {
            if (only !== undefined) await assertReviewer(reader, only)
            const missing = await findMissingCodes(reader, await listDecidedCodes(reader))
            await writeOut(`\ufeff${renderForSpreadsheets([EXPORT_COLUMNS])}`)
            for await (const { title, language, state, decisions } of readAllTitles(reader)) {
              const wanted = decisions.filter(({ reviewer }) => only === undefined || reviewer === only)
              const rows = wanted.map(({ reviewer, code, decided }) => [
                title,
                code ?? UNKNOWN,
                language,
                state,
                reviewer,
                formatTimestamp(decided),
                code === undefined ? '' : missing.has(code) ? 'no' : 'yes',
                missing.get(code ?? '')?.replacedBy.join(',') ?? '',
              ])
              await writeOut(renderForSpreadsheets(rows))
            }
          }),
        )
      }),
    )

  withReviewer(codings.command('apply'))
    .description(
      'store the decisions of files with the columns title and decision: a code, "accept" for the code in the column code, or "unknown"; rows without a decision are ignored. Then make the confirmed titles names of the search, those of the console and the API too',
    )
    .argument('[file...]')
    .addOption(jsonOption)
    .action(
      action(async (files: string[], flags: { reviewer?: string; json?: true }) => {
        if (files.length === 0) {
          const names = await withDatabase((database) => applyConfirmed(database, retention()))
          return await report(flags, names, describeNames(names))
        }
        const reviewer = readReviewer(flags.reviewer)
        const progress = new Progress('rows', files)
        const shown = new ShownCells()
        const records = readRecords(files, {
          columns: DECISION_COLUMNS,
          onShown: shown.add,
          ignoreUnknown: true,
          onBytes: progress.onBytes,
        })
        const { decisions, repaired } = await readDecisions(records).finally(() => progress.stop())
        const { stored, names, disputed } = await withDatabase(async (database) => {
          const stored = await confirmDecisions(database, reviewer, decisions)
          const names = await applyConfirmed(database, retention())
          return { stored, names, disputed: await renderTitles(database, stored.disputed) }
        })
        await report(
          flags,
          { ...stored, ...names, disputed, ...shown.toMember(), ...withRepaired(repaired) },
          [
            ...shown.describe(),
            ...describeRepaired(repaired, 'row', ({ title }) => title),
            describeConfirmed(stored),
            describeNames(names),
          ].join('\n'),
        )
      }),
    )
}

function describeNames({ added, removed }: { readonly added: number; readonly removed: number }): string {
  if (added + removed === 0) return 'The confirmed names of the search are unchanged.'
  return `Confirmed names of the search: ${formatNumber(added)} added, ${formatNumber(removed)} removed.`
}

/** @throws {UserError} for somebody who has decided nothing */
async function assertReviewer(reader: Reader, reviewer: string): Promise<void> {
  const known = await listReviewers(reader)
  if (!known.includes(reviewer))
    throw new UserError(`${quote(reviewer)} has decided nothing${suggest(reviewer, known)}`)
}
