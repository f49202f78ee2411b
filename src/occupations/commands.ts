import { type Command, Option } from 'commander'
import {
  action,
  jsonOption,
  keepHeapSmall,
  report,
  type WithDatabase,
  waitingNotice,
} from '../command-line/command.ts'
import { replaceFile } from '../command-line/output-file.ts'
import { Progress, say, writeOut } from '../command-line/terminal.ts'
import type { ReadFile } from '../input/read-bytes.ts'
import { readRecords } from '../input/read-records.ts'
import type { SourceRecord } from '../input/source-record.ts'
import type { Fault } from '../text/user-error.ts'
import { exportOccupations, OCCUPATION_COLUMNS } from './export.ts'
import { addHistoryCommands } from './history/commands.ts'
import { describePreview } from './history/describe.ts'
import type { ChangePreview, RecordChange } from './history/preview.ts'
import { REPLACED_BY_COLUMN } from './history/replacements.ts'
import type { Origin, Retention } from './history/revision-log.ts'
import { type ImportSummary, importOccupations } from './import.ts'
import { countFields } from './onet/coverage.ts'
import { ONET_ATTRIBUTION, readOnet } from './onet/import.ts'

interface ImportFlags {
  replace?: true
  dryRun?: true
  keepDates?: true
  json?: true
}

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

  withImportOptions(occupations.command('import-onet'))
    .description('import the O*NET text release, with pay from the OEWS wages')
    .argument('<folder>', 'the unpacked text release')
    .option('--wages <file>', 'the national OEWS estimates, as CSV')
    .action(
      action(async (folder: string, flags: ImportFlags & { wages?: string }) => {
        const { wages } = flags
        const coverage = countFields(readOnet(folder, wages === undefined ? {} : { wages }))
        const origin = () => ({ command: 'import-onet', files: [] })
        const result = await runImport(withDatabase, coverage.records, flags, new Progress('records'), {
          origin,
          retention: retention(),
        })
        const fields = coverage.fields()
        await report(
          flags,
          {
            ...result.summary,
            fields: Object.fromEntries(fields.map(({ field, records }) => [field, records])),
          },
          [
            'Records on which each field is present:',
            ...fields.map(({ field, records }) => `  ${String(records).padStart(6)}  ${field}`),
            describeImport(result, flags),
            ONET_ATTRIBUTION,
          ].join('\n'),
        )
      }),
    )

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

function withImportOptions(subcommand: Command): Command {
  return subcommand
    .option('--replace', 'delete the records that the input does not hold')
    .option('--dry-run', 'tell what would change, and change nothing')
    .option('--keep-dates', 'store the lastUpdatedDate that each record carries')
    .addOption(jsonOption)
}

async function runImport(
  withDatabase: WithDatabase,
  records: AsyncIterable<SourceRecord | Fault>,
  { replace, dryRun, keepDates }: ImportFlags,
  progress: Progress,
  history: { origin: () => Origin; retention: Retention },
): Promise<ImportResult> {
  keepHeapSmall()
  let preview: ChangePreview | undefined
  const summary = await withDatabase((database) =>
    importOccupations(database, records, {
      ...history,
      ...(dryRun === true && {
        onPreview: (found: ChangePreview) => {
          preview = found
        },
      }),
      replace: replace === true,
      dryRun: dryRun === true,
      keepDates: keepDates === true,
      onProgress: progress.onRecords,
      onWait: waitingNotice(),
    }),
  ).finally(() => progress.stop())
  return {
    summary: preview === undefined ? summary : { ...summary, changes: preview.records },
    preview,
  }
}

interface ImportResult {
  /** With the first changed records, for a dry run. */
  readonly summary: ImportSummary & { readonly changes?: readonly RecordChange[] }
  readonly preview: ChangePreview | undefined
}

/** Names the repaired records: a repair is a guess, though a good one, and the source should be corrected. */
function describeRepairs({ repaired }: ImportSummary): string {
  if (repaired === undefined) return ''
  const { count, first } = repaired
  const names = first.map(({ file, line, occupationCode }) => `  ${file}:${line}: ${occupationCode}`)
  const shown = count > first.length ? ` (the first ${first.length} are shown)` : ''
  return [
    `Warning: the text of ${count === 1 ? '1 record' : `${count} records`} is UTF-8 that was decoded as Windows-1252 or Latin-1. It was repaired${shown}:`,
    ...names,
    '',
  ].join('\n')
}

function describeImport(result: ImportResult, { dryRun }: ImportFlags): string {
  return `${describeRepairs(result.summary)}${describeChanges(result, dryRun === true)}`
}

function describeChanges({ summary, preview }: ImportResult, dryRun: boolean): string {
  const { created, updated, unchanged, deleted, normalised, lastUpdatedDate } = summary
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged, ${deleted} deleted`
  const tidied = normalised === 0 ? '' : ` ${normalised} had text or empty fields that were normalised.`
  if (dryRun) {
    const named = preview === undefined || preview.total === 0 ? '' : `${describePreview(preview)}\n`
    return `${named}Would be: ${counts}.${tidied} Nothing was changed.`
  }
  return `${counts}.${lastUpdatedDate === undefined ? '' : ` Dated ${lastUpdatedDate}.`}${tidied}`
}
