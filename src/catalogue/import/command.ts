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
import { formatNumber } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { describePreview } from '../history/describe.ts'
import type { Origin, Retention } from '../history/revision-log.ts'
import { describeRepaired } from '../records/read-rows.ts'
import { type ImportOptions, type ImportSummary, importOccupations } from './import.ts'

/** The flags of every import. */
export interface ImportFlags {
  replace?: true
  dryRun?: true
  keepDates?: true
  acceptDamaged?: true
  json?: true
}

/** Adds the options of every import. */
export function withImportOptions(subcommand: Command): Command {
  return subcommand
    .option('--replace', 'delete the records that are not in the input')
    .option('--dry-run', 'report what would change, and change nothing')
    .option('--keep-dates', 'keep the lastUpdatedDate of each record')
    .option('--accept-damaged', 'store records that look damaged: lost macrons, leading zeros or letters')
    .addOption(jsonOption)
}

/** Runs an import with a progress display. */
export async function runImport(
  withDatabase: WithDatabase,
  records: AsyncIterable<SourceRecord | Fault>,
  { replace, dryRun, keepDates, acceptDamaged }: ImportFlags,
  progress: Progress,
  history: Pick<ImportOptions, 'searchNames'> & { origin: () => Origin; retention: Retention },
): Promise<ImportSummary> {
  keepHeapSmall()
  return await withDatabase(
    (database) =>
      importOccupations(database, records, {
        ...history,
        replace: replace === true,
        dryRun: dryRun === true,
        keepDates: keepDates === true,
        acceptDamaged: acceptDamaged === true,
        onProgress: progress.onRecords,
        onWait: waitingNotice(),
      }),
    { create: true },
  ).finally(() => progress.stop())
}

type Named = NonNullable<ImportSummary['repaired']>

/** A warning about records, of which the first are listed, each with what is wrong with it. */
function warn(
  found: Named | undefined,
  describe: (count: number, shown: string) => string,
  detail: (record: Named['first'][number]) => string = () => '',
): string {
  if (found === undefined) return ''
  const { count, first } = found
  const shown = count > first.length ? ` (the first ${first.length} are shown)` : ''
  const lines = first.map((record) => {
    const { file, line, occupationCode } = record
    return `  ${file}:${line}: ${occupationCode}${detail(record)}`
  })
  return [`Warning: ${describe(count, shown)}:`, ...lines, ''].join('\n')
}

const describeRepairs = ({ repaired }: ImportSummary) =>
  repaired === undefined
    ? ''
    : [...describeRepaired(repaired, 'record', ({ occupationCode }) => occupationCode), ''].join('\n')

/** Lists the records whose group has no code: such a group has no list and no filter. */
const describeGroups = ({ withoutGroupCode }: ImportSummary) =>
  warn(
    withoutGroupCode,
    (count, shown) =>
      `${count === 1 ? '1 record has a group' : `${count} records have a group`} without a code, so it is not among the groups${shown}`,
    ({ groups = [] }) => `: ${groups.map((name) => quote(name)).join(', ')}`,
  )

/** Lists the records that people would see by their code only. */
const describeUntitled = ({ withoutTitle }: ImportSummary) =>
  warn(
    withoutTitle,
    (count, shown) =>
      `${count === 1 ? '1 record has' : `${count} records have`} no title in English or te reo Māori${shown}`,
  )

/** Lists rows that a spreadsheet has beside its records, failed formulas, and text that may be damaged. */
const describeDoubtful = ({ doubtful }: ImportSummary) =>
  warn(
    doubtful,
    (count, shown) => `${count === 1 ? '1 record is' : `${count} records are`} doubtful${shown}`,
    ({ doubt }) => `: ${doubt}`,
  )

/** Lists the codes from which a spreadsheet may have taken leading zeros. */
const describeShortCodes = ({ shortCodes }: ImportSummary) =>
  warn(
    shortCodes,
    (count, shown) =>
      `${count === 1 ? '1 numeric code is' : `${count} numeric codes are`} shorter than the others. A spreadsheet may have removed leading zeros${shown}`,
  )

/** The result of an import as text. */
export function describeImport(summary: ImportSummary): string {
  return `${describeRepairs(summary)}${describeGroups(summary)}${describeUntitled(summary)}${describeDoubtful(summary)}${describeShortCodes(summary)}${describeChanges(summary)}`
}

function describeChanges(summary: ImportSummary): string {
  const { created, updated, unchanged, deleted, normalised, lastUpdatedDate, changes } = summary
  const [made, changed, same, gone] = [created, updated, unchanged, deleted].map(formatNumber)
  const counts = `${made} created, ${changed} updated, ${same} unchanged, ${gone} deleted`
  const tidied = normalised === 0 ? '' : ` ${normalised} had text or empty fields that were normalised.`
  const found = describeNames(summary)
  if (changes !== undefined) {
    const preview = describePreview(changes, created + updated + deleted)
    return `${preview}Would be: ${counts}.${found}${tidied} Nothing was changed.`
  }
  return `${counts}.${lastUpdatedDate === undefined ? '' : ` Dated ${lastUpdatedDate}.`}${found}${tidied}`
}

function describeNames({ searchNames }: ImportSummary): string {
  if (searchNames === undefined) return ''
  return ` Search-only names: ${searchNames.added} added, ${searchNames.removed} removed.`
}
