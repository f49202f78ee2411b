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
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { describePreview } from '../history/describe.ts'
import type { Origin, Retention } from '../history/revision-log.ts'
import { describeRepaired } from '../records/read-rows.ts'
import { type ImportOptions, type ImportSummary, importOccupations } from './import.ts'
import type { NamedRecord } from './named-records.ts'
import { parsePayBasis } from './pay-basis.ts'

/** The flags of every import. */
export interface ImportFlags {
  replace?: true
  dryRun?: true
  keepDates?: true
  acceptDamaged?: true
  payBasis?: string
  json?: true
}

/** Adds the options of every import. */
export function withImportOptions(subcommand: Command): Command {
  return subcommand
    .option('--replace', 'delete the records that are not in the input')
    .option('--dry-run', 'report what would change, and change nothing')
    .option('--keep-dates', 'keep the lastUpdatedDate of each record')
    .option('--accept-damaged', 'store records that look damaged: lost macrons, leading zeros or letters')
    .option(
      '--pay-basis <text>',
      'the currency, year and country of all pay, such as "NZD 2025, New Zealand"',
      parsePayBasis,
    )
    .addOption(jsonOption)
}

/** Runs an import with a progress display. */
export async function runImport(
  withDatabase: WithDatabase,
  records: AsyncIterable<SourceRecord | Fault>,
  { replace, dryRun, keepDates, acceptDamaged, payBasis }: ImportFlags,
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
        ...(payBasis !== undefined && { payBasis }),
        onProgress: progress.onRecords,
        onWait: waitingNotice(),
      }),
    { create: true },
  ).finally(() => progress.stop())
}

/** Why the first records of a summary are listed, each with what is wrong with it. */
interface Warning {
  readonly of: 'withoutGroupCode' | 'withoutTitle' | 'doubtful' | 'shortCodes'
  readonly one: string
  readonly many: string
  readonly why: string
  readonly detail?: (record: NamedRecord) => string
}

const WARNINGS: readonly Warning[] = [
  {
    // Such a group has no list and no filter.
    of: 'withoutGroupCode',
    one: 'record has a group',
    many: 'records have a group',
    why: 'without a code, so it is not among the groups',
    detail: ({ groups = [] }) => `: ${groups.map((name) => quote(name)).join(', ')}`,
  },
  {
    // People would see them by their code only.
    of: 'withoutTitle',
    one: 'record has',
    many: 'records have',
    why: 'no title in English or te reo Māori',
  },
  {
    of: 'doubtful',
    one: 'record is',
    many: 'records are',
    why: 'doubtful',
    detail: ({ doubt }) => `: ${doubt}`,
  },
  {
    of: 'shortCodes',
    one: 'numeric code is',
    many: 'numeric codes are',
    why: 'shorter than the others. A spreadsheet may have removed leading zeros',
  },
]

function listWarnings(summary: ImportSummary): string[] {
  return WARNINGS.flatMap(({ of, one, many, why, detail = () => '' }) => {
    const { count = 0, first = [] } = summary[of] ?? {}
    if (count === 0) return []
    const shown = count > first.length ? ` (the first ${first.length} are shown)` : ''
    return [
      `Warning: ${count} ${count === 1 ? one : many} ${why}${shown}:`,
      ...first.map((each) => `  ${each.file}:${each.line}: ${each.occupationCode}${detail(each)}`),
    ]
  })
}

/** The result of an import as text. */
export function describeImport(summary: ImportSummary): string {
  const { repaired = { count: 0, first: [] } } = summary
  return [
    ...describeRepaired(repaired, 'record', ({ occupationCode }) => occupationCode),
    ...listWarnings(summary),
    describeChanges(summary),
  ].join('\n')
}

function describeChanges(summary: ImportSummary): string {
  const { created, updated, unchanged, deleted, normalised, lastUpdatedDate, changes } = summary
  const [made, changed, same, gone] = [created, updated, unchanged, deleted].map(formatNumber)
  const counts = `${made} created, ${changed} updated, ${same} unchanged, ${gone} deleted`
  const tidied = normalised === 0 ? '' : ` ${normalised} had text or empty fields that were normalised.`
  const found = describeOthers(summary)
  if (changes !== undefined) {
    const preview = describePreview(changes, created + updated + deleted)
    return `${preview}Would be: ${counts}.${found}${tidied} Nothing was changed.`
  }
  return `${counts}.${lastUpdatedDate === undefined ? '' : ` Dated ${lastUpdatedDate}.`}${found}${tidied}`
}

/** What else than records changes. */
function describeOthers({ searchNames, successors = 0, payBasis }: ImportSummary): string {
  const stated = (basis: string) => (basis === '' ? 'not stated' : quote(basis))
  return [
    searchNames && ` Search-only names: ${searchNames.added} added, ${searchNames.removed} removed.`,
    successors > 0 && ` Successors stated for ${count(successors, 'removed code')}.`,
    payBasis && ` What the amounts of pay are: ${stated(payBasis.after)}, before ${stated(payBasis.before)}.`,
  ]
    .filter(Boolean)
    .join('')
}
