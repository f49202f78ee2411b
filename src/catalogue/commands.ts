import { type Command, Option } from 'commander'
import type { ReadFile } from '../engines/records/index.ts'
import { readRecords } from '../engines/records/index.ts'
import { action, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { replaceFile } from '../foundation/command-line/output-file.ts'
import { Progress, say, writeOut } from '../foundation/command-line/terminal.ts'
import { count as formatCount } from '../foundation/text/format-number.ts'
import { addCodingCommands } from './codings/commands.ts'
import { addHistoryCommands, REVISION, readRevision } from './history/commands.ts'
import type { Retention } from './history/revision-log.ts'
import { describeImport, type ImportFlags, runImport, withImportOptions } from './import/command.ts'
import { dropUnknown } from './import/drop-unknown.ts'
import { type ExportFormat, exportOccupations } from './import/export.ts'
import { listMappable, readMapping } from './import/mapping.ts'
import { addNameCommands } from './names/commands.ts'
import { addOnetCommand } from './onet/command.ts'
import {
  findItemColumn,
  IMPORT_COLUMNS,
  ImportRecord,
  OCCUPATION_COLUMNS,
  writeCsvTemplate,
  writeRecordSchema,
} from './records/record-schema.ts'
import { OccupationRecord } from './records/schema.ts'
import { ShownCells } from './records/shown-cells.ts'

interface TableFlags {
  map?: string
  sheet?: string
  ignoreUnknown?: true
}

/** The most ignored field names that a command prints. */
const MOST_IGNORED = 20

/** Adds `occupations import`, `import-onet`, `export` and the commands of the history. */
export function addOccupationCommands(
  program: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): Command {
  const occupations = program.command('occupations').description('import and export the occupation catalogue')

  withImportOptions(occupations.command('import'))
    .description(
      'import records from JSON, NDJSON, CSV or XLSX files, optionally gzipped; - is standard input',
    )
    .argument('<file...>')
    .option('--map <file>', 'a mapping of columns to fields, in YAML or JSON')
    .option('--sheet <name>', 'the sheet of a spreadsheet that has several')
    .option('--ignore-unknown', 'ignore unknown columns and fields')
    .action(
      action(async (files: string[], flags: ImportFlags & TableFlags) => {
        const progress = new Progress('records', files)
        const read: ReadFile[] = []
        const ignored = new Set<string>()
        const onIgnored = (name: string) => ignored.add(name)
        const shown = new ShownCells()
        const { map, sheet, ignoreUnknown } = flags
        const mapping =
          map === undefined
            ? undefined
            : await readMapping(map, OccupationRecord, listMappable(OCCUPATION_COLUMNS))
        const all = readRecords(files, {
          columns: IMPORT_COLUMNS,
          findColumn: findItemColumn,
          mapping,
          sheet,
          ignoreUnknown,
          onIgnored,
          onShown: shown.add,
          onBytes: progress.onBytes,
          onFile: (file) => read.push(file),
        })
        const records = ignoreUnknown ? dropUnknown(all, ImportRecord, onIgnored) : all
        const origin = () => ({ command: 'import', files: read })
        const summary = await runImport(withDatabase, records, flags, progress, {
          origin,
          retention: retention(),
        })
        const names = [...ignored].slice(0, MOST_IGNORED)
        await report(
          flags,
          {
            ...summary,
            ...(ignored.size > 0 && { ignored: names }),
            ...shown.toMember(),
          },
          [
            ...shown.describe(),
            ...(ignored.size > 0 ? [`Ignored: ${names.join(', ')}.`] : []),
            describeImport(summary),
          ].join('\n'),
        )
      }),
    )

  occupations
    .command('schema')
    .description('print the JSON Schema of a record')
    .option('--csv-template', 'print the header of a CSV file with all columns instead')
    .action(
      action(async ({ csvTemplate }: { csvTemplate?: true }) =>
        writeOut(csvTemplate ? writeCsvTemplate() : writeRecordSchema()),
      ),
    )

  addOnetCommand(occupations, withDatabase, retention)

  occupations
    .command('export')
    .description('write the whole catalogue to standard output or to a file')
    .addOption(
      new Option('--format <format>', 'output format')
        .choices(['ndjson', 'csv', 'flat-csv'])
        .default('ndjson'),
    )
    .option('--at <revision>', REVISION, readRevision)
    .option('--output <file>', 'write to a file, replacing it once the catalogue is complete')
    .action(
      action(async ({ format, at, output }: { format: ExportFormat; at?: number; output?: string }) => {
        // On a terminal that shows the records, a count would appear among them.
        const shown = output === undefined && process.stdout.isTTY
        const progress = shown ? undefined : new Progress('records')
        const { count, address } = await withDatabase(async (database) => {
          const write = (append: (text: string) => Promise<void>) =>
            exportOccupations(database, format, append, { at, onProgress: progress?.onRecords })
          const count = await (output === undefined ? write(writeOut) : replaceFile(output, write))
          return { count, address: database.address }
        }).finally(() => progress?.stop())
        const which = at === undefined ? '' : ` of revision ${at}`
        say(`Exported ${formatCount(count, 'record')}${which} from ${address}.`)
      }),
    )

  addNameCommands(occupations, withDatabase, retention)
  addCodingCommands(occupations, withDatabase, retention)
  addHistoryCommands(occupations, withDatabase)
  return occupations
}
