import type { SourceRecord } from '../../engines/records/index.ts'
import type { Database, Writer } from '../../foundation/database/database.ts'
import { FaultList, InputRefused, isFault, MAX_FAULTS, refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { changeCatalogue } from '../history/dry-run.ts'
import { previewChanges, type RecordChange } from '../history/preview.ts'
import { nextDate, nextRevision, type Origin, type Retention, readPayBasis } from '../history/revision-log.ts'
import { recordRevision } from '../names/change-search-data.ts'
import { type NameCounts, type SearchOnlyName, storeSearchNames } from '../names/names.ts'
import { type FaultyRecord, type RenderedRecord, renderDocument, renderRecord } from '../records/record.ts'
import {
  findReplacementFaults,
  isReplacement,
  MAX_REPLACEMENTS,
  REPLACED_BY,
  type Replacement,
  readReplacement,
} from '../records/replacements.ts'
import { findLosses, findLostZeros, findShortCodes, type LocateLater, OR_ACCEPT } from './losses.ts'
import {
  applyChanges,
  dropStaged,
  listChanges,
  loadReplacements,
  loadStaged,
  type StagedRow,
} from './merge.ts'
import { NamedRecords } from './named-records.ts'
import { decidePayBasis } from './pay-basis.ts'

export interface ImportOptions {
  /** Delete the records that are not in the input. */
  readonly replace?: boolean
  /** Report what would change, but change nothing. */
  readonly dryRun?: boolean
  /** Store the dates in the records; records without one get the date of the import. */
  readonly keepDates?: boolean
  /** The search-only names of a source, which replace those it had; called after everything has been read. */
  readonly searchNames?: () => {
    readonly source: string
    readonly names: ReadonlyMap<string, readonly SearchOnlyName[]>
  }
  /** The origin of the revision in the history, called after everything has been read. */
  readonly origin?: () => Origin
  /** Store records that look damaged by a program, which are faults otherwise: see `losses.ts` and `mojibake.ts`. */
  readonly acceptDamaged?: boolean
  /** What the amounts of pay are, such as `USD 2023, United States`. */
  readonly payBasis?: string
  /** How long the history is kept. */
  readonly retention?: Retention
  /** Called from time to time with the number of records read so far. */
  readonly onProgress?: (records: number) => void
  /** Called once if another import must finish first. */
  readonly onWait?: () => void
}

export interface ImportSummary {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  /** Records with text that was normalised or with empty fields that were omitted. */
  readonly normalised: number
  /** Records with repaired text that had been decoded with the wrong character set; absent if there are none. */
  readonly repaired?: NamedRecords
  /** Records with a group that has no code; absent if there are none. */
  readonly withoutGroupCode?: NamedRecords
  /** Records without a title in either language; absent if there are none. */
  readonly withoutTitle?: NamedRecords
  /**
   * Rows of tables that are probably no records or have an error of a spreadsheet, and records with text that was
   * probably decoded with the wrong character set; absent if there are none.
   */
  readonly doubtful?: NamedRecords
  /** Records of an empty catalogue whose numeric code is shorter than others: leading zeros may be lost. */
  readonly shortCodes?: NamedRecords
  /** The counts of search-only names, if the input contains any. */
  readonly searchNames?: NameCounts
  /** Removed codes for which other successors were stated than before; absent if there are none. */
  readonly successors?: number
  /** What the amounts of pay were and are, empty where nothing says so; absent if that did not change. */
  readonly payBasis?: { readonly before: string; readonly after: string }
  /** The date of the changed records; absent if there are none, or if they keep their own. */
  readonly lastUpdatedDate?: string
  /** Of a dry run: the first changed records and their fields. */
  readonly changes?: readonly RecordChange[]
}

/**
 * Updates the catalogue from records in one transaction. A record with unchanged content keeps its date; the others
 * get a common date that is later than all stored dates. Memory use does not depend on the number of records.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS; nothing is stored then
 */
export async function importOccupations(
  database: Database,
  records: AsyncIterable<SourceRecord | Fault>,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  return await changeCatalogue(database, options, (writer) => importWithin(writer, records, options))
}

async function importWithin(
  writer: Writer,
  records: AsyncIterable<SourceRecord | Fault>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { replace = false, dryRun = false, keepDates = false } = options
  const date = await nextDate(writer)
  const staging = new Staging(records, date, options)
  await loadStaged(writer, staging.rows())
  staging.faults.add(await findRepeatedCodes(writer, staging.locateLater))
  staging.faults.add(await findReplacedRecords(writer, staging.replacements))
  staging.faults.throwIfFound()
  if (replace && staging.count === staging.replacements.length) {
    refuse({
      field: '--replace',
      message: 'with an empty input, this would delete the whole catalogue. Give files with records',
    })
  }

  const replacements = await listNewReplacements(writer, staging.replacements)
  await loadReplacements(writer, replacements)
  const counts = await listChanges(writer, { replace, keepDates })
  if (options.acceptDamaged !== true) {
    staging.faults.add(await findLosses(writer, staging.locateLater))
    staging.faults.add(await findLostZeros(writer, staging.locateLater))
    staging.faults.throwIfFound()
  }
  const shortCodes = await findShortCodes(writer)
  const changes = dryRun ? await previewChanges(writer) : undefined
  const given = options.searchNames?.()
  const names = given && (await storeSearchNames(writer, given.source, given.names))
  const renamed = (names?.added ?? 0) + (names?.removed ?? 0)
  const basis = await readPayBasis(writer)
  const payBasis = decidePayBasis(basis, options)
  const changed = counts.created + counts.updated + counts.deleted + replacements.length + renamed
  if (changed > 0 || payBasis !== basis) {
    const revision = await nextRevision(writer, date)
    await applyChanges(writer, revision)
    const faults = await findReplacementFaults(writer, replacements)
    if (faults.length > 0) throw new InputRefused(faults.slice(0, MAX_FAULTS))
    const origin = options.origin?.() ?? { command: 'import', files: [] }
    await recordRevision(writer, revision, { ...origin, payBasis }, counts, options.retention)
  }
  await dropStaged(writer)
  return {
    ...counts,
    normalised: staging.normalised,
    ...listNamed({ ...staging.named, shortCodes }),
    ...(names !== undefined && { searchNames: names }),
    ...(replacements.length > 0 && { successors: replacements.length }),
    ...(payBasis !== basis && { payBasis: { before: basis, after: payBasis } }),
    ...(!keepDates && counts.created + counts.updated > 0 ? { lastUpdatedDate: formatTimestamp(date) } : {}),
    ...(changes !== undefined && { changes }),
  }
}

/** The records that a summary names, by reason, without the reasons for which there are none. */
function listNamed<Reason extends string>(
  named: Readonly<Record<Reason, NamedRecords>>,
): Partial<Record<Reason, NamedRecords>> {
  const found = Object.entries<NamedRecords>(named).filter(([, { count }]) => count > 0)
  return Object.fromEntries(found) as Partial<Record<Reason, NamedRecords>>
}

/** Codes that the input both describes and marks as removed, and codes that it marks twice. */
async function findReplacedRecords(writer: Writer, replacements: readonly Replacement[]): Promise<Fault[]> {
  const faults: Fault[] = []
  const seen = new Set<string>()
  for (const { code, file = '', line = 0 } of replacements) {
    const staged = await writer.get<{ file: string; line: number }>(
      'select file, line from staged where code = $1 limit 1',
      [code],
    )
    if (staged !== undefined) {
      const message = `marks ${quote(code)} as removed, and ${staged.file}:${staged.line} describes it`
      faults.push({ file, line, field: REPLACED_BY, message })
    }
    if (seen.has(code)) {
      faults.push({
        file,
        line,
        field: 'occupationCode',
        message: `is ${quote(code)}, marked as removed twice`,
      })
    }
    seen.add(code)
  }
  return faults
}

/** The replacements that differ from those already stored. */
async function listNewReplacements(
  writer: Writer,
  replacements: readonly Replacement[],
): Promise<Replacement[]> {
  const changed: Replacement[] = []
  for (const replacement of replacements) {
    const known = await writer.get<{ code: string }>(
      'select code from occupation_removed where code = $1 and replaced_by = $2',
      [replacement.code, JSON.stringify(replacement.by)],
    )
    if (known === undefined) changed.push(replacement)
  }
  return changed
}

/** Converts records to rows of the staging table, or only collects faults once there is one. */
class Staging {
  readonly faults = new FaultList()
  /** Records read so far, including faulty ones. */
  count = 0
  normalised = 0
  /** Codes that the input marks as removed. */
  readonly replacements: Replacement[] = []
  /** The records that the summary names, by reason. */
  readonly named = {
    repaired: new NamedRecords(),
    withoutGroupCode: new NamedRecords(),
    withoutTitle: new NamedRecords(),
    doubtful: new NamedRecords(),
  }
  readonly #records: AsyncIterable<SourceRecord | Fault>
  readonly #date: number
  readonly #keepDates: boolean
  readonly #acceptDamaged: boolean
  readonly #onProgress: ImportOptions['onProgress']

  constructor(records: AsyncIterable<SourceRecord | Fault>, date: number, options: ImportOptions) {
    this.#records = records
    this.#date = date
    this.#keepDates = options.keepDates === true
    this.#acceptDamaged = options.acceptDamaged === true
    this.#onProgress = options.onProgress
  }

  /** Finds the place of a field in a table that has been read, as far as the table's header shows it. */
  readonly locateLater: LocateLater = (file, line, field) =>
    this.#tables.get(file)?.locateLater?.(field, line) ?? {}
  readonly #tables = new Map<string, SourceRecord>()

  async *rows(): AsyncGenerator<StagedRow> {
    try {
      for await (const record of this.#records) {
        if (++this.count % 1000 === 0) this.#onProgress?.(this.count)
        const replacement = !isFault(record) && isReplacement(record)
        const row = isFault(record)
          ? this.#refuse([record])
          : replacement
            ? this.#keepReplacement(record)
            : this.#toRow(record)
        if (this.faults.truncated) return
        if (row !== undefined) yield row
      }
    } catch (error) {
      // Unreadable input is one more fault, after those of the records before it.
      if (!(error instanceof InputRefused)) throw error
      this.faults.add(error.faults)
    }
    this.#onProgress?.(this.count)
  }

  #keepReplacement(record: SourceRecord): undefined {
    const replacement = readReplacement(record)
    if (Array.isArray(replacement)) this.faults.add(replacement)
    else if (this.replacements.length < MAX_REPLACEMENTS) this.replacements.push(replacement)
    else {
      const { file, line } = record
      const message = `One import can mark at most ${MAX_REPLACEMENTS} codes as removed`
      this.faults.add([{ file, line, field: REPLACED_BY, message }])
    }
    this.faults.add(record.faults ?? [])
  }

  #refuse(faults: readonly Fault[]): undefined {
    this.faults.add(faults)
  }

  #toRow(record: SourceRecord): StagedRow | undefined {
    const { file, line } = record
    if (record.locateLater !== undefined) this.#tables.set(file, record)
    const rendered = this.#checkDate(record, renderRecord(record))
    if (!this.#acceptDamaged) this.faults.add(rendered.damage.map(withOption))
    if ('faults' in rendered) {
      this.faults.add(rendered.faults)
      // Nothing will be stored, but the code is staged so that its repetition is found too.
      return rendered.code === undefined
        ? undefined
        : [this.count, file, line, rendered.code, this.#date, '', '[]', '']
    }
    const { code, hash, filters, content } = rendered
    if (rendered.normalised) this.normalised++
    const entry = { file, line, occupationCode: code }
    const { repaired, withoutGroupCode, withoutTitle, doubtful } = this.named
    if (rendered.repaired) repaired.add(entry)
    const groups = rendered.groupsWithoutCode
    if (groups.length > 0) withoutGroupCode.add({ ...entry, groups })
    if (!rendered.titled) withoutTitle.add(entry)
    const [damaged] = [...rendered.damage, ...rendered.doubts]
    const doubt = record.doubt ?? (damaged && `${damaged.field} ${damaged.message}`)
    if (doubt !== undefined) doubtful.add({ ...entry, doubt })
    const updated = (this.#keepDates ? rendered.ownDate : undefined) ?? this.#date
    return [this.count, file, line, code, updated, hash, filters, renderDocument(content, updated)]
  }

  #checkDate(record: SourceRecord, rendered: RenderedRecord | FaultyRecord): RenderedRecord | FaultyRecord {
    const { file, line } = record
    const message = this.#keepDates ? findDateFault(rendered.ownDate) : undefined
    if (message === undefined) return rendered
    const field = 'lastUpdatedDate'
    const fault = { file, line, field, ...record.locate?.(field), message }
    const before = 'faults' in rendered ? rendered.faults : []
    return { ...rendered, faults: [...before, fault] }
  }
}

/** Names the option that accepts a text. */
const withOption = (fault: Fault): Fault => ({
  ...fault,
  message: `${fault.message}, ${OR_ACCEPT}`,
})

function findDateFault(date: number | undefined): string | undefined {
  const now = Date.now()
  if (date !== undefined && date > now)
    return `is ${formatTimestamp(date)}, in the future (it is ${formatTimestamp(now)} now)`
  return undefined
}

async function findRepeatedCodes(writer: Writer, locate: LocateLater): Promise<Fault[]> {
  const rows = await writer.all<{
    file: string
    line: number
    code: string
    first_file: string
    first_line: number
  }>(
    `select file, line, code, first_file, first_line
     from (
       select position, file, line, code,
         row_number() over (partition by code order by position) as number,
         first_value(file) over (partition by code order by position) as first_file,
         first_value(line) over (partition by code order by position) as first_line
       from staged
       where code in (select code from staged group by code having count(*) > 1)
     ) repeated
     where number > 1 order by position limit ${MAX_FAULTS + 1}`,
  )
  return rows.map(({ file, line, code, first_file, first_line }) => ({
    file,
    line,
    field: 'occupationCode',
    ...locate(file, line, 'occupationCode'),
    message: `repeats ${quote(code)} of ${first_file}:${first_line}`,
  }))
}
