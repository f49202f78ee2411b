import type { Command } from 'commander'
import { renderForSpreadsheets } from '../../engines/records/index.ts'
import { action, type WithDatabase } from '../../foundation/command-line/command.ts'
import { assertOutput, replaceFile } from '../../foundation/command-line/output-file.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { describeRepaired } from '../records/read-rows.ts'
import { openSearch, type ReadIndexOptions } from '../search/commands.ts'
import { CODING_COLUMNS, type CodedFile, codeFile, toCells } from './code-file.ts'
import { checkTitles } from './titles.ts'

/** Adds `occupations code`. */
export function addCodeCommand(
  occupations: Command,
  withDatabase: WithDatabase,
  readOptions: ReadIndexOptions,
): void {
  occupations
    .command('code')
    .description(
      'find the occupation code of each job title in a CSV file with the column title, and tasks if known',
    )
    .argument('<file>')
    .option('--output <file>', 'write the CSV to a file instead of standard output')
    .action(
      action(async (file: string, { output }: { output?: string }) => {
        assertOutput(output, [file], 'the files to read')
        const search = await openSearch(withDatabase, readOptions)
        const checks = checkTitles()
        await codeFile(search, file, checks, (coded) => writeRows(output, coded))
        const lines = describeRepaired(checks.repaired, 'row', ({ title = '' }) => title)
        if (lines.length > 0) say(lines.join('\n'))
      }),
    )
}

async function writeRows(output: string | undefined, { names, rows }: CodedFile): Promise<void> {
  const counts = { titles: 0, coded: 0, candidates: 0 }
  const writeAll = async (append: (text: string) => Promise<void>) => {
    await append(`\ufeff${renderForSpreadsheets([[...names, ...CODING_COLUMNS]])}`)
    for await (const { row, coding } of rows) {
      await append(renderForSpreadsheets([[...row, ...toCells(coding)]]))
      counts.titles++
      if (coding.code !== undefined) counts.coded++
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
