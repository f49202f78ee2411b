import type { Command } from 'commander'
import type { SourceRecord } from '../../engines/records/index.ts'
import {
  jsonOption,
  keepHeapSmall,
  type WithDatabase,
  waitingNotice,
} from '../../foundation/command-line/command.ts'
import type { Progress } from '../../foundation/command-line/terminal.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { describePreview } from '../history/describe.ts'
import type { ChangePreview, RecordChange } from '../history/preview.ts'
import type { Origin, Retention } from '../history/revision-log.ts'
import { type ImportOptions, type ImportSummary, importOccupations } from './import.ts'

/** The flags of every import. */
export interface ImportFlags {
  replace?: true
  dryRun?: true
  keepDates?: true
  json?: true
}

/** Adds the options of every import. */
export function withImportOptions(subcommand: Command): Command {
  return subcommand
    .option('--replace', 'delete the records that are not in the input')
    .option('--dry-run', 'report what would change, and change nothing')
    .option('--keep-dates', 'keep the lastUpdatedDate of each record')
    .addOption(jsonOption)
}

/** Runs an import with a progress display. */
export async function runImport(
  withDatabase: WithDatabase,
  records: AsyncIterable<SourceRecord | Fault>,
  { replace, dryRun, keepDates }: ImportFlags,
  progress: Progress,
  history: Pick<ImportOptions, 'searchNames' | 'keepMarks'> & { origin: () => Origin; retention: Retention },
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

export interface ImportResult {
  /** For a dry run, includes the first changed records. */
  readonly summary: ImportSummary & { readonly changes?: readonly RecordChange[] }
  readonly preview: ChangePreview | undefined
}

/** Lists the repaired records: a repair is an educated guess, and the source should be corrected. */
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

/** Lists the records whose group has no code: such a group has no list and no filter. */
function describeGroups({ withoutGroupCode }: ImportSummary): string {
  if (withoutGroupCode === undefined) return ''
  const { count, first } = withoutGroupCode
  const named = first.map(({ file, line, occupationCode, groups = [] }) => {
    return `  ${file}:${line}: ${occupationCode}: ${groups.map((name) => quote(name)).join(', ')}`
  })
  const shown = count > first.length ? ` (the first ${first.length} are shown)` : ''
  const records = count === 1 ? '1 record has a group' : `${count} records have a group`
  return [`Warning: ${records} without a code, so it is not among the groups${shown}:`, ...named, ''].join(
    '\n',
  )
}

/** Lists the records that people would see by their code only. */
function describeUntitled({ withoutTitle }: ImportSummary): string {
  if (withoutTitle === undefined) return ''
  const { count, first } = withoutTitle
  const named = first.map(({ file, line, occupationCode }) => `  ${file}:${line}: ${occupationCode}`)
  const shown = count > first.length ? ` (the first ${first.length} are shown)` : ''
  const records = count === 1 ? '1 record has' : `${count} records have`
  return [`Warning: ${records} no title in English or te reo Māori${shown}:`, ...named, ''].join('\n')
}

/** The result of an import as text. */
export function describeImport(result: ImportResult, { dryRun }: ImportFlags): string {
  return `${describeRepairs(result.summary)}${describeGroups(result.summary)}${describeUntitled(result.summary)}${describeChanges(result, dryRun === true)}`
}

function describeChanges({ summary, preview }: ImportResult, dryRun: boolean): string {
  const { created, updated, unchanged, deleted, normalised, lastUpdatedDate } = summary
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged, ${deleted} deleted`
  const tidied = normalised === 0 ? '' : ` ${normalised} had text or empty fields that were normalised.`
  const found = describeNames(summary)
  if (dryRun) {
    const named = preview === undefined || preview.total === 0 ? '' : `${describePreview(preview)}\n`
    return `${named}Would be: ${counts}.${found}${tidied} Nothing was changed.`
  }
  return `${counts}.${lastUpdatedDate === undefined ? '' : ` Dated ${lastUpdatedDate}.`}${found}${tidied}`
}

function describeNames({ searchNames }: ImportSummary): string {
  if (searchNames === undefined) return ''
  return ` Search-only names: ${searchNames.added} added, ${searchNames.removed} removed.`
}
