import { type Command, Option } from 'commander'
import { action, report, type WithDatabase } from '../command-line/command.ts'
import { replaceFile } from '../command-line/output-file.ts'
import { Progress, say, writeOut } from '../command-line/terminal.ts'
import type { ReadFile } from '../input/read-bytes.ts'
import { readRecords } from '../input/read-records.ts'
import { exportOccupations, OCCUPATION_COLUMNS } from './export.ts'
import { addHistoryCommands } from './history/commands.ts'
import { REPLACED_BY_COLUMN } from './history/replacements.ts'
import type { Retention } from './history/revision-log.ts'
import { describeImport, type ImportFlags, runImport, withImportOptions } from './import-command.ts'
import { addOnetCommand } from './onet/command.ts'

/** Adds `occupations import`, `import-onet`, `export` and the commands of the history. */
export function addOccupationCommands(
  program: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  const occupations = program.command('occupations').description('import and export the occupation catalogue')

  withImportOptions(occupations.command('import'))
    .description('import records from JSON, NDJSON or CSV files, also gzip; - is standard input')
    .argument('<file...>')
    .action(
      action(async (files: string[], flags: ImportFlags) => {
        const progress = new Progress('records', files)
        const read: ReadFile[] = []
        const records = readRecords(files, {
          columns: IMPORT_COLUMNS,
          onBytes: progress.onBytes,
          onFile: (file) => read.push(file),
        })
        const origin = () => ({ command: 'import', files: read })
        const result = await runImport(withDatabase, records, flags, progress, {
          origin,
          retention: retention(),
        })
        await report(flags, result.summary, describeImport(result, flags))
      }),
    )

  addOnetCommand(occupations, withDatabase, retention)

  occupations
    .command('export')
    .description('write the whole catalogue to standard output or to a file')
    .addOption(
      new Option('--format <format>', 'form of the output').choices(['ndjson', 'csv']).default('ndjson'),
    )
    .option('--output <file>', 'write to a file, which is replaced once the whole catalogue is written')
    .action(
      action(async ({ format, output }: { format: 'ndjson' | 'csv'; output?: string }) => {
        // On a terminal that shows the records themselves a count would stand between them.
        const shown = output === undefined && process.stdout.isTTY
        const progress = shown ? undefined : new Progress('records')
        const { count, address } = await withDatabase(
          async (database) => {
            const write = (append: (text: string) => Promise<void>) =>
              exportOccupations(database, format, append, progress?.onRecords)
            const count = await (output === undefined ? write(writeOut) : replaceFile(output, write))
            return { count, address: database.address }
          },
          { existing: true },
        ).finally(() => progress?.stop())
        say(`Exported ${count} ${count === 1 ? 'record' : 'records'} from ${address}.`)
      }),
    )

  addHistoryCommands(occupations, withDatabase, retention)
}

/** A CSV of records may also mark codes as removed. */
const IMPORT_COLUMNS = [...OCCUPATION_COLUMNS, REPLACED_BY_COLUMN]
