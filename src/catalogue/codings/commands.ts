import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { readRecords } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress, say, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { findMissingCodes, type MissingCodes } from '../history/missing-codes.ts'
import { describeSuccessors } from '../history/replacements.ts'
import type { Retention } from '../history/revision-log.ts'
import { ShownCells } from '../import/shown-cells.ts'
import { describeRepaired, withRepaired } from '../names/read-rows.ts'
import { renderMissingCode } from '../records/rows.ts'
import { applyConfirmed, confirmDecisions, describeConfirmed, readReviewer, withReviewer } from './confirm.ts'
import { DECISION_COLUMNS, readDecisions } from './decision-files.ts'
import {
  countTitles,
  keyOfTitle,
  listDecidedCodes,
  listReviewers,
  type ReviewedTitle,
  readAllTitles,
  readTitles,
  STATES,
  type State,
  UNKNOWN,
  withdraw,
} from './decisions.ts'
import { describeDecided, renderTitles } from './render-titles.ts'

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

/** The most removed codes that a message names. */
const MOST_NAMED = 10

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
        const { counts, titles, rendered, missing, nameless } = await withDatabase((database) =>
          database.snapshot(async (reader) => {
            const missing = await findMissingCodes(reader, await listDecidedCodes(reader))
            const titles: ReviewedTitle[] = []
            let nameless = 0
            for await (const title of readAllTitles(reader)) {
              if (title.state === flags.state) titles.push(title)
              if (title.code !== undefined && missing.has(title.code)) nameless++
            }
            const rendered = await renderTitles(reader, titles)
            return { counts: await countTitles(reader), titles, rendered, missing, nameless }
          }),
        )
        const lines = titles.map(
          ({ title, decisions }) =>
            `${quote(title)}: ${decisions.map(({ reviewer, code }) => `${describeDecided(code, missing)} (${quote(reviewer)})`).join(', ')}`,
        )
        const summary = STATES.map((state) => `${counts[state]} ${state}`).join(', ')
        await report(
          flags,
          {
            ...counts,
            titles: rendered,
            ...(missing.size > 0 && {
              confirmedWithoutName: nameless,
              missingCodes: [...missing.values()].map(renderMissingCode),
            }),
          },
          [...lines, `Reviewed titles: ${summary}.`, ...describeRemovedCodes(missing, nameless)].join('\n'),
        )
      }),
    )

  codings
    .command('export')
    .description(
      'print all decisions as CSV with a byte order mark. codings confirm restores title, decision and language of a file, as decisions of its reviewer and of now; give each reviewer a file. It refuses codes that are no longer in the catalogue: the column inCatalogue says no, and replacedBy names successors',
    )
    .option('--reviewer <name>', 'print the decisions of this reviewer only')
    .action(
      action(async (flags: { reviewer?: string }) => {
        const only = flags.reviewer === undefined ? undefined : readReviewer(flags.reviewer)
        await withDatabase((database) =>
          database.snapshot(async (reader) => {
            if (only !== undefined) await assertReviewer(reader, only)
            const missing = await findMissingCodes(reader, await listDecidedCodes(reader))
            await writeOut(stringify([EXPORT_COLUMNS], { bom: true }))
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
              await writeOut(stringify(rows))
            }
          }),
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
        const shown = new ShownCells()
        const records = readRecords(files, {
          columns: DECISION_COLUMNS,
          onShown: shown.add,
          ignoreUnknown: true,
          onBytes: progress.onBytes,
        })
        const { decisions, repaired } = await readDecisions(records).finally(() => progress.stop())
        const { stored, disputed } = await withDatabase(async (database) => {
          const stored = await confirmDecisions(database, reviewer, decisions)
          await applyConfirmed(database, retention())
          return { stored, disputed: await renderTitles(database, stored.disputed) }
        })
        await report(
          flags,
          { ...stored, disputed, ...shown.toMember(), ...withRepaired(repaired) },
          [
            ...shown.describe(),
            ...describeRepaired(repaired, 'row', ({ title }) => title),
            describeConfirmed(stored),
          ].join('\n'),
        )
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
        const withdrawn = await withDatabase(async (database) => {
          const count = await database.write('codings', async (writer) => {
            await assertReviewer(writer, reviewer)
            if (flags.all) return await withdraw(writer, reviewer)
            return await withdrawTitles(writer, reviewer, titles)
          })
          await applyConfirmed(database, retention())
          return count
        })
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
        const names = await withDatabase((database) => applyConfirmed(database, retention()))
        if (names.added + names.removed === 0 && !flags.json)
          return say('Every confirmed title is a name already.')
        await report(flags, names, `Confirmed names: ${names.added} added, ${names.removed} removed.`)
      }),
    )
}

/** @throws {UserError} for somebody who has decided nothing */
async function assertReviewer(reader: Reader, reviewer: string): Promise<void> {
  const known = await listReviewers(reader)
  if (!known.includes(reviewer))
    throw new UserError(`${quote(reviewer)} has decided nothing${suggest(reviewer, known)}`)
}

/** Names the codes of decisions that the catalogue no longer has: their titles are no names of the search. */
function describeRemovedCodes(missing: MissingCodes, nameless: number): string[] {
  if (missing.size === 0) return []
  const named = [...missing]
    .slice(0, MOST_NAMED)
    .map(([code, { replacedBy }]) => `${quote(code)}${describeSuccessors(replacedBy)}`)
  const more = missing.size > MOST_NAMED ? ` (the first ${MOST_NAMED} are shown)` : ''
  const titles = `${count(nameless, 'confirmed title')} ${nameless === 1 ? 'is no name' : 'are no names'} of the search for this reason`
  return [
    `The catalogue no longer has ${count(missing.size, 'code')} that reviewers chose${more}: ${named.join('; ')}. ${titles}. List the titles with --state, and decide about them again.`,
  ]
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
