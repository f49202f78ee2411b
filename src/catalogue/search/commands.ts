import { type Command, Option } from 'commander'
import { type IndexData, OccupationSearch, openIndex } from '../../engines/finding/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { readWhole } from '../../foundation/command-line/option-values.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Database } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { count, formatBytes } from '../../foundation/text/format-number.ts'
import { IndexRefused } from './build-process.ts'
import { buildIndexNow, buildWaitingIndex, explainFailure, type IndexJobOptions } from './index-job.ts'
import { readIndex, readIndexState, removeDamagedIndex } from './index-store.ts'

/** Reads the settings of building an index. */
export type ReadIndexOptions = () => Omit<IndexJobOptions, 'database'>

/** Commands that change the catalogue, and so its index. */
const CHANGING: ReadonlySet<string> = new Set([
  'import',
  'import-onet',
  'import-names',
  'import-synonyms',
  'remove',
  'apply',
])

/** Adds `occupations find` and `index`, and indexes the catalogue after the commands that change it. */
export function addSearchCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  readOptions: ReadIndexOptions,
): void {
  occupations.hook('postAction', async (_, command) => {
    if (!CHANGING.has(command.name()) || process.exitCode) return
    const onBuild = () => {
      if (process.stderr.isTTY) say('Building the search index…')
    }
    const failure = await withDatabase((database) =>
      buildWaitingIndex({ ...readOptions(), database }, onBuild),
    ).catch(explainFailure)
    if (failure !== undefined)
      say(
        `The catalogue is stored, but not its search index, which "mahi occupations index" builds: ${failure}`,
      )
  })

  occupations
    .command('index')
    .description('build the search index now, also where building it has failed before')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const { bytes } = await withDatabase((database) => loadIndex(database, readOptions()))
        await report(flags, { bytes }, `The catalogue is indexed (${formatBytes(bytes)}).`)
      }),
    )

  occupations
    .command('find')
    .description('search the catalogue as GET /v1/occupations/search does')
    .argument('<words...>')
    .addOption(new Option('--lang <language>', 'only names in this language').choices(['en', 'mi']))
    .option('--limit <number>', 'most results', readWhole(1, 999), 10)
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
        say(`${count(found.totalCount, 'occupation matches', 'occupations match')}.`)
      }),
    )
}

/** Opens the index of the current catalogue, which is built first where it must be. */
export async function openSearch(
  withDatabase: WithDatabase,
  readOptions: ReadIndexOptions,
): Promise<OccupationSearch> {
  return await withDatabase(async (database) => {
    const { index } = await loadIndex(database, readOptions())
    return new OccupationSearch(index)
  })
}

/** How often an index is read that is replaced meanwhile, or was damaged. */
const TRIES = 3

/**
 * Reads the index of the current catalogue, and builds it first unless it is stored and intact.
 *
 * @throws {UserError} if it cannot be built
 */
async function loadIndex(
  database: Database,
  options: Omit<IndexJobOptions, 'database'>,
): Promise<{ index: IndexData; bytes: number }> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (!(await readIndexState(database)).current) await buildNow(database, options)
    // If the catalogue has changed again, the index that was just built is used all the same.
    const { stored } = await readIndexState(database)
    if (stored === undefined) continue
    const memory = await readIndex(database, stored)
    const index = memory === undefined ? undefined : openIndex(memory)
    if (index !== undefined) return { index, bytes: stored.bytes }
    if (await removeDamagedIndex(database, stored))
      say('The stored search index was damaged. It is built again.')
  }
  throw new UserError('The search index was replaced meanwhile. Run the command again')
}

async function buildNow(database: Database, options: Omit<IndexJobOptions, 'database'>): Promise<void> {
  try {
    await buildIndexNow({ ...options, database })
  } catch (error) {
    if (error instanceof IndexRefused)
      throw new UserError(`The search index cannot be built: ${error.message}`, { cause: error })
    throw error
  }
}

/** Lower scores would be shown as 0. */
const LEAST = 0.0005

/** As wide for every score. */
function describeScore(score: number): string {
  return score < LEAST ? '<.001' : score.toFixed(3)
}
