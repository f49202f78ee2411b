import { createReadStream } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parse } from 'csv-parse'
import { stringify } from 'csv-stringify/sync'
import { action, jsonOption, type WithDatabase } from '../command-line/command.ts'
import { replaceFile } from '../command-line/output-file.ts'
import { say, writeOut } from '../command-line/terminal.ts'
import { fail, UserError } from '../text/user-error.ts'
import { type Coding, codeTitle } from './coding.ts'
import { openIndex } from './index-file.ts'
import { loadIndex } from './index-store.ts'
import { OccupationSearch } from './search.ts'

/** Adds `occupations find` and `code`. */
export function addSearchCommands(occupations: Command, withDatabase: WithDatabase): void {
  occupations
    .command('find')
    .description('search the catalogue as GET /v1/occupations/search does')
    .argument('<words...>')
    .addOption(new Option('--lang <language>', 'only names in this language').choices(['en', 'mi']))
    .option('--limit <number>', 'most results', readCount, 10)
    .addOption(jsonOption)
    .action(
      action(async (words: string[], flags: { lang?: 'en' | 'mi'; limit: number; json?: true }) => {
        const search = await openSearch(withDatabase)
        const found = search.search({ query: words.join(' '), language: flags.lang, limit: flags.limit })
        if (flags.json) return await writeOut(`${JSON.stringify(found)}\n`)
        if (found.didYouMean !== undefined) say(`Did you mean "${found.didYouMean}"?`)
        for (const { occupationCode, titleEnglish, titleMaori, matchedName, score } of found.results) {
          const title = titleEnglish ?? titleMaori ?? ''
          const match = matchedName === title ? '' : `  (${matchedName})`
          await writeOut(`${describeScore(score)}  ${occupationCode}  ${title}${match}\n`)
        }
        say(`${found.totalCount} ${found.totalCount === 1 ? 'occupation matches' : 'occupations match'}.`)
      }),
    )

  occupations
    .command('code')
    .description(
      'find the occupation code of each job title in a CSV file with the column title, and tasks if known',
    )
    .argument('<file>')
    .option('--output <file>', 'write the CSV to a file instead of standard output')
    .action(
      action(async (file: string, { output }: { output?: string }) => {
        const search = await openSearch(withDatabase)
        let count = 0
        const codeAll = async (append: (text: string) => Promise<void>) => {
          for await (const { row, names, coding } of codeRows(search, file)) {
            if (count === 0) await append(stringify([[...names, ...CODING_COLUMNS]]))
            await append(stringify([[...names.map((name) => row[name] ?? ''), ...toCells(coding)]]))
            count++
          }
        }
        await (output === undefined ? codeAll(writeOut) : replaceFile(output, codeAll))
        say(`Coded ${count} ${count === 1 ? 'title' : 'titles'}.`)
      }),
    )
}

const CANDIDATES = [1, 2, 3]
const CODING_COLUMNS = [
  'code',
  'certainty',
  'group',
  ...CANDIDATES.flatMap((n) => [`candidate${n}`, `candidate${n}Title`, `candidate${n}Certainty`]),
]

function toCells({ code, certainty, group, candidates }: Coding): (string | number)[] {
  const cells = CANDIDATES.map((n) => candidates[n - 1]).flatMap((candidate) =>
    candidate === undefined
      ? ['', '', '']
      : [candidate.occupationCode, candidate.titleEnglish ?? '', candidate.certainty],
  )
  return [code ?? '', certainty, group?.code ?? '', ...cells]
}

type Row = Readonly<Record<string, string>>

async function* codeRows(search: OccupationSearch, file: string) {
  const parser = createReadStream(file)
    .on('error', (error) => parser.destroy(error))
    .pipe(parse({ columns: true, bom: true, skip_empty_lines: true }))
  let names: readonly string[] | undefined
  try {
    for await (const row of parser as AsyncIterable<Row>) {
      names ??= Object.keys(row)
      if (!names.includes('title')) {
        fail({ file, line: 1, message: 'has no column "title": the first line must name the columns' })
      }
      yield { row, names, coding: codeTitle(search, { title: row.title ?? '', tasks: row.tasks }) }
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError([{ file, message: `cannot be read: ${(error as Error).message}` }], { cause: error })
  }
}

async function openSearch(withDatabase: WithDatabase): Promise<OccupationSearch> {
  const memory = await loadIndex((use) => withDatabase(use, { existing: true }))
  const index = openIndex(memory)
  if (index === undefined) throw new Error('the index cannot be opened')
  return new OccupationSearch(index)
}

/** As wide for every score. */
function describeScore(score: number): string {
  return score < 0.0005 ? '<.001' : score.toFixed(3)
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999.')
  return Number(text)
}
