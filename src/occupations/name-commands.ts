import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { action, jsonOption, report, type WithDatabase, waitingNotice } from '../command-line/command.ts'
import { Progress } from '../command-line/terminal.ts'
import type { Database, Writer } from '../database/database.ts'
import type { ReadFile } from '../input/read-bytes.ts'
import { readRecords } from '../input/read-records.ts'
import { fail } from '../text/user-error.ts'
import { nextRevision, type Retention, recordRevision } from './history/revision-log.ts'
import { nextDate } from './import.ts'
import { NAME_COLUMNS, readNames, readSynonymLines } from './name-files.ts'
import { storeSearchNames, storeSynonyms } from './search-names.ts'

/** Adds `occupations import-names` and `import-synonyms`. */
export function addNameCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  occupations
    .command('import-names')
    .description(
      'import names for the search only, from CSV, JSON or NDJSON files with the columns occupationCode, name and language (en or mi); they replace those that the same codes have',
    )
    .argument('<file...>')
    .option('--replace', 'also delete the names of codes that the input does not hold')
    .addOption(jsonOption)
    .action(
      action(async (files: string[], flags: { replace?: true; json?: true }) => {
        const progress = new Progress('records', files)
        const read: ReadFile[] = []
        const records = readRecords(files, {
          columns: NAME_COLUMNS,
          onBytes: progress.onBytes,
          onFile: (file) => read.push(file),
        })
        const names = await readNames(records).finally(() => progress.stop())
        const counts = await withDatabase((database) =>
          change(database, { command: 'import-names', files: read }, retention(), async (writer) => {
            const counts = await storeSearchNames(writer, names, { replace: flags.replace === true })
            return { result: counts, changed: counts.added + counts.removed > 0 }
          }),
        )
        await report(flags, counts, `Search-only names: ${counts.added} added, ${counts.removed} removed.`)
      }),
    )

  occupations
    .command('import-synonyms')
    .description(
      'import the synonyms of the search from a text file with lines such as "lorry = truck"; they replace the list before',
    )
    .argument('<file>')
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { json?: true }) => {
        const text = await readFile(file, 'utf8').catch((error: Error) =>
          fail({ file, message: `cannot be read: ${error.message}` }),
        )
        const lists = readSynonymLines(file, text)
        const changed = await withDatabase((database) =>
          change(database, { command: 'import-synonyms', files: [] }, retention(), async (writer) => {
            const changed = await storeSynonyms(writer, lists)
            return { result: changed, changed }
          }),
        )
        const message = changed ? `Stored ${lists.length} lines of synonyms.` : 'The synonyms are unchanged.'
        await report(flags, { lines: lists.length, changed }, message)
      }),
    )
}

/** Changes search data as a new revision of the catalogue in which no record changes. */
async function change<T>(
  database: Database,
  origin: { command: string; files: readonly ReadFile[] },
  retention: Retention,
  work: (writer: Writer) => Promise<{ result: T; changed: boolean }>,
): Promise<T> {
  return await database.write(
    'catalogue',
    async (writer) => {
      const { result, changed } = await work(writer)
      if (changed) {
        const revision = await nextRevision(writer, await nextDate(writer))
        const counts = { created: 0, updated: 0, unchanged: 0, deleted: 0 }
        await recordRevision(writer, revision, origin, counts, retention)
      }
      return result
    },
    waitingNotice(),
  )
}
