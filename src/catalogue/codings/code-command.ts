import type { Command } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { action, type WithDatabase } from '../../foundation/command-line/command.ts'
import { assertOutput, replaceFile } from '../../foundation/command-line/output-file.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { findMissingCodes } from '../history/missing-codes.ts'
import type { Retention } from '../history/revision-log.ts'
import { describeRepaired } from '../names/read-rows.ts'
import { openSearch, type ReadIndexOptions } from '../search/commands.ts'
import { CODING_COLUMNS, type CodedRow, codeFile, toCells } from './code-file.ts'
import { applyConfirmed, confirmDecisions, describeConfirmed, readReviewer, withReviewer } from './confirm.ts'
import { type Decision, keyOfTitle, listDecidedCodes, readTitles, UNKNOWN } from './decisions.ts'
import { review } from './review.ts'
import { withTerminal } from './terminal.ts'
import { checkTitles } from './titles.ts'

interface CodeFlags {
  output?: string
  review?: boolean
  reviewer?: string
}

/** Adds `occupations code`, which ends in a review. */
export function addCodeCommand(
  occupations: Command,
  withDatabase: WithDatabase,
  readOptions: ReadIndexOptions,
  retention: () => Retention,
): void {
  const command = occupations
    .command('code')
    .description(
      'find the occupation code of each job title in a CSV file with the column title, and tasks if known, and review them',
    )
    .argument('<file>')
    .option(
      '--output <file>',
      'write the CSV to a file instead of standard output; in a terminal, a review follows',
    )
    .option('--review', 'review the codes: keys are read from standard input')
    .option('--no-review', 'end without a review')
  withReviewer(command).action(
    action(async (file: string, { output, review, reviewer }: CodeFlags) => {
      assertOutput(output, [file], 'the files to read')
      const search = await openSearch(withDatabase, readOptions)
      const isAttended = process.stdin.isTTY && process.stderr.isTTY && output !== undefined
      const checks = checkTitles()
      const sayRepaired = () => {
        const lines = describeRepaired(checks.repaired, 'row', ({ title = '' }) => title)
        if (lines.length > 0) say(lines.join('\n'))
      }
      if (!(review ?? isAttended)) {
        const { names, rows } = await codeFile(search, file, checks)
        await writeRows(output, names, rows)
        return sayRepaired()
      }
      if (file === '-' || file === '/dev/stdin')
        throw new UserError('A review reads its keys from standard input: give the titles in a file')
      const who = readReviewer(reviewer)
      const coded = await codeFile(search, file, checks)
      const rows = await Array.fromAsync(coded.rows)
      checks.throwIfFound()
      sayRepaired()
      const decisions = await withDatabase((database) => reviewRows(database, rows))
      await writeRows(output, coded.names, rows, decisions)
      if (decisions.size === 0) return say('Nothing was decided.')
      const confirmed = await withDatabase(async (database) => {
        const stored = await confirmDecisions(database, who, [...decisions.values()])
        await applyConfirmed(database, retention())
        return stored
      })
      say(describeConfirmed(confirmed))
    }),
  )
}

async function reviewRows(
  database: Parameters<typeof readTitles>[0],
  rows: readonly CodedRow[],
): Promise<Map<string, Decision>> {
  const titles = [...new Set(rows.map(({ title }) => title))]
  const earlier = new Map((await readTitles(database, titles)).map((each) => [each.key, each]))
  const missing = await findMissingCodes(database, await listDecidedCodes(database))
  const titleOf = async (code: string) => {
    const row = await database.get<{ document: string }>('select document from occupation where code = $1', [
      code,
    ])
    return row && ((JSON.parse(row.document) as { titleEnglish?: string }).titleEnglish ?? '')
  }
  return await withTerminal((terminal) => review(rows, terminal, { earlier, missing, titleOf }))
}

/** Writes the rows; after a review, the column `code` has what was decided, and `decision` says so. */
async function writeRows(
  output: string | undefined,
  names: readonly string[],
  rows: AsyncIterable<CodedRow> | readonly CodedRow[],
  decisions?: ReadonlyMap<string, Decision>,
): Promise<void> {
  const counts = { titles: 0, coded: 0, candidates: 0 }
  const writeAll = async (append: (text: string) => Promise<void>) => {
    const columns = decisions === undefined ? CODING_COLUMNS : [...CODING_COLUMNS, 'decision']
    await append(stringify([[...names, ...columns]], { bom: true }))
    for await (const { row, title, coding } of rows) {
      const [code = '', ...cells] = toCells(coding)
      const decision = decisions?.get(keyOfTitle(title))
      const decided = decision === undefined ? code : (decision.code ?? '')
      const word = decision === undefined ? '' : (decision.code ?? UNKNOWN)
      await append(stringify([[...row, decided, ...cells, ...(decisions === undefined ? [] : [word])]]))
      counts.titles++
      if (decided !== '') counts.coded++
      else if (coding.candidates.length > 0) counts.candidates++
    }
  }
  await (output === undefined ? writeAll(writeOut) : replaceFile(output, writeAll))
  say(describeCoded(counts))
}

/** What the columns `code` and `candidate1` have: `1 of 4 titles has a code; 2 have only candidates, 1 has none.` */
function describeCoded(counts: { titles: number; coded: number; candidates: number }): string {
  const { titles, coded, candidates } = counts
  const without = titles - coded - candidates
  const have = (number: number) => `${formatNumber(number)} ${number === 1 ? 'has' : 'have'}`
  const rest = [
    ...(candidates === 0 ? [] : [`${have(candidates)} only candidates`]),
    ...(without === 0 ? [] : [`${have(without)} none`]),
  ]
  const [verb, end] = [coded === 1 ? 'has' : 'have', rest.length === 0 ? '' : `; ${rest.join(', ')}`]
  return `${formatNumber(coded)} of ${count(titles, 'title')} ${verb} a code${end}.`
}
