import { createReadStream } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { type Coding, codeTitle, OccupationSearch, openIndex } from '../../engines/finding/index.ts'
import { readCells, trimName } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { replaceFile } from '../../foundation/command-line/output-file.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Database } from '../../foundation/database/database.ts'
import { fail, UserError } from '../../foundation/faults/user-error.ts'
import { IndexRefused } from './build-process.ts'
import { buildIndexNow, buildWaitingIndex, type IndexJobOptions } from './index-job.ts'
import { readIndex, readIndexState, type StoredIndex } from './index-store.ts'

/** Commands that change the catalogue, and so its index. */
const CHANGING: ReadonlySet<string> = new Set([
  'import',
  'import-onet',
  'import-names',
  'import-synonyms',
  'weigh',
  'remove',
  'replace',
  'rollback',
])

/** Adds `occupations find`, `code` and `index`, and indexes the catalogue after the commands that change it. */
export function addSearchCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  readOptions: () => Omit<IndexJobOptions, 'database'>,
): void {
  occupations.hook('postAction', async (_, command) => {
    if (!CHANGING.has(command.name()) || process.exitCode) return
    const onBuild = () => {
      if (process.stderr.isTTY) say('Building the search index…')
    }
    const failure = await withDatabase((database) =>
      buildWaitingIndex({ ...readOptions(), database }, onBuild),
    )
    if (failure !== undefined) say(`The catalogue is stored, but not its search index: ${failure}.`)
  })

  occupations
    .command('index')
    .description('build the search index now, also where building it has failed before')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const { bytes } = await withDatabase((database) => ensureIndex(database, readOptions()), {
          existing: true,
        })
        await report(flags, { bytes }, `The catalogue is indexed (${(bytes / 2 ** 20).toFixed(1)} MiB).`)
      }),
    )

  occupations
    .command('find')
    .description('search the catalogue as GET /v1/occupations/search does')
    .argument('<words...>')
    .addOption(new Option('--lang <language>', 'only names in this language').choices(['en', 'mi']))
    .option('--limit <number>', 'most results', readCount, 10)
    .addOption(jsonOption)
    .action(
      action(async (words: string[], flags: { lang?: 'en' | 'mi'; limit: number; json?: true }) => {
        const search = await openSearch(withDatabase, readOptions)
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
        const search = await openSearch(withDatabase, readOptions)
        let count = 0
        const codeAll = async (append: (text: string) => Promise<void>) => {
          for await (const { row, names, coding } of codeRows(search, file)) {
            if (count === 0) await append(stringify([[...names, ...CODING_COLUMNS]]))
            await append(stringify([[...row, ...toCells(coding)]]))
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

async function* codeRows(search: OccupationSearch, file: string) {
  let names: readonly string[] | undefined
  for await (const { cells, line } of readCells(file, readBytes(file), { known: ['title', 'tasks'] })) {
    if (names === undefined) {
      names = cells.map(trimName)
      if (!names.includes('title'))
        fail({ file, line, message: 'has no column "title": the first line must name the columns' })
      continue
    }
    if (cells.every((cell) => cell === '')) continue
    if (cells.length > names.length)
      fail({ file, line, message: `has ${cells.length} values, but the file has ${names.length} columns` })
    const cellOf = (name: string) => cells[names?.indexOf(name) ?? -1]
    const row = names.map((_, index) => cells[index] ?? '')
    yield { row, names, coding: codeTitle(search, { title: cellOf('title') ?? '', tasks: cellOf('tasks') }) }
  }
}

async function* readBytes(file: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file) as AsyncIterable<Buffer>
  } catch (error) {
    throw new UserError([{ file, message: `cannot be read: ${(error as Error).message}` }], { cause: error })
  }
}

async function openSearch(
  withDatabase: WithDatabase,
  readOptions: () => Omit<IndexJobOptions, 'database'>,
): Promise<OccupationSearch> {
  return await withDatabase(
    async (database) => {
      const { revision } = await ensureIndex(database, readOptions())
      const memory = await readIndex(database, revision)
      const index = memory === undefined ? undefined : openIndex(memory)
      if (index === undefined)
        throw new UserError('The search index was replaced meanwhile. Run the command again')
      return new OccupationSearch(index)
    },
    { existing: true },
  )
}

/**
 * Builds the index of the current catalogue unless it is stored.
 *
 * @throws {UserError} if it cannot be built
 */
async function ensureIndex(
  database: Database,
  options: Omit<IndexJobOptions, 'database'>,
): Promise<StoredIndex> {
  try {
    const { current } = await readIndexState(database)
    if (!current) await buildIndexNow({ ...options, database })
  } catch (error) {
    if (error instanceof IndexRefused)
      throw new UserError(`The search index cannot be built: ${error.message}`, { cause: error })
    throw error
  }
  // Where the catalogue has changed meanwhile, this is the index that there is.
  const { stored } = await readIndexState(database)
  if (stored === undefined)
    throw new UserError('The search index was replaced meanwhile. Run the command again')
  return stored
}

/** As wide for every score. */
function describeScore(score: number): string {
  return score < 0.0005 ? '<.001' : score.toFixed(3)
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999.')
  return Number(text)
}
