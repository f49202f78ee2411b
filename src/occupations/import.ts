import type { Database, Writer } from '../database/database.ts'
import { readRevisions } from '../database/revisions.ts'
import { FaultList, InputRefused, isFault, MAX_FAULTS, refuse } from '../input/faults.ts'
import type { SourceRecord } from '../input/source-record.ts'
import { quote } from '../text/quote.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import type { Fault } from '../text/user-error.ts'
import { type ChangePreview, previewChanges } from './history/preview.ts'
import {
  findReplacementFaults,
  isReplacement,
  MAX_REPLACEMENTS,
  REPLACED_BY,
  type Replacement,
  readReplacement,
} from './history/replacements.ts'
import { nextRevision, type Origin, type Retention, recordRevision } from './history/revision-log.ts'
import {
  applyChanges,
  dropStaged,
  listChanges,
  loadReplacements,
  loadStaged,
  type StagedRow,
} from './merge.ts'
import { type FaultyRecord, type RenderedRecord, renderDocument, renderRecord } from './record.ts'
import { type NameCounts, type SearchOnlyName, storeSearchNames } from './search-names.ts'

export interface ImportOptions {
  /** Delete the records that the input does not hold. */
  readonly replace?: boolean
  /** Find out what would change, and change nothing. */
  readonly dryRun?: boolean
  /** Store the date that each record carries; one that carries none gets the import's. */
  readonly keepDates?: boolean
  /** Search-only names to store with the records; asked once everything has been read. */
  readonly searchNames?: () => ReadonlyMap<string, readonly SearchOnlyName[]>
  /** What the history names as the origin; asked once everything has been read. */
  readonly origin?: () => Origin
  /** How long the past is kept. */
  readonly retention?: Retention
  /** Called before anything is changed with what is about to be: the first so many records, and their fields. */
  readonly onPreview?: (preview: ChangePreview) => void
  /** Called with the number of records read so far, now and then. */
  readonly onProgress?: (records: number) => void
  /** Called once if another import has to finish first. */
  readonly onWait?: () => void
}

export interface ImportSummary {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  /** Records whose text had to be normalised or whose empty fields were left out. */
  readonly normalised: number
  /** Those of them whose text had been decoded with the wrong character set and was repaired; absent without any. */
  readonly repaired?: RepairedRecords
  /** Search-only names, where the input has them. */
  readonly searchNames?: NameCounts
  /** The date set on the changed records; absent if there are none, or if they keep their own. */
  readonly lastUpdatedDate?: string
}

export interface RepairedRecords {
  readonly count: number
  /** The first ten. */
  readonly first: readonly { readonly file: string; readonly line: number; readonly occupationCode: string }[]
}

/** Most repaired records that a summary names. */
const MOST_NAMED = 10

/** Ends a transaction whose changes were only looked at. */
class DryRun extends Error {
  readonly summary: ImportSummary

  constructor(summary: ImportSummary) {
    super('dry run')
    this.summary = summary
  }
}

/**
 * Brings the catalogue to what the records say, in one transaction: readers see the old catalogue or the new one. A
 * record whose content did not change keeps its date; the others get one date, later than every date stored.
 * Memory does not grow with the number of records.
 *
 * @throws {InputRefused} with every fault found, up to MAX_FAULTS; nothing is stored then
 */
export async function importOccupations(
  database: Database,
  records: AsyncIterable<SourceRecord | Fault>,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  try {
    return await database.write(
      'catalogue',
      (writer) => importWithin(writer, records, options),
      options.onWait,
    )
  } catch (error) {
    if (error instanceof DryRun) return error.summary
    throw error
  }
}

async function importWithin(
  writer: Writer,
  records: AsyncIterable<SourceRecord | Fault>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { replace = false, dryRun = false, keepDates = false, onProgress } = options
  const date = await nextDate(writer)
  const staging = new Staging(records, date, keepDates, onProgress)
  await loadStaged(writer, staging.rows())
  staging.faults.add(await findRepeatedCodes(writer))
  staging.faults.add(await findReplacedRecords(writer, staging.replacements))
  staging.faults.throwIfFound()
  if (replace && staging.count === staging.replacements.length) {
    refuse({
      field: '--replace',
      message: 'with an empty input, this would delete the whole catalogue. Give files with records',
    })
  }

  const replacements = await listNewReplacements(writer, staging.replacements)
  await loadReplacements(
    writer,
    replacements.map(({ code, by }) => [code, JSON.stringify(by)] as const),
  )
  const counts = await listChanges(writer, { removes: replace ? 'unstaged' : 'none', keepDates })
  if (options.onPreview !== undefined) options.onPreview(await previewChanges(writer))
  const names =
    options.searchNames === undefined
      ? undefined
      : await storeSearchNames(writer, options.searchNames(), { replace })
  const renamed = (names?.added ?? 0) + (names?.removed ?? 0)
  if (counts.created + counts.updated + counts.deleted + replacements.length + renamed > 0) {
    const revision = await nextRevision(writer, date)
    await applyChanges(writer, revision)
    const faults = await findReplacementFaults(writer, replacements)
    if (faults.length > 0) throw new InputRefused(faults.slice(0, MAX_FAULTS))
    const origin = options.origin?.() ?? { command: 'import', files: [] }
    await recordRevision(writer, revision, origin, counts, options.retention)
  }
  await dropStaged(writer)
  const summary: ImportSummary = {
    ...counts,
    normalised: staging.normalised,
    ...(staging.repaired.count > 0 && { repaired: staging.repaired }),
    ...(names !== undefined && { searchNames: names }),
    ...(!keepDates && counts.created + counts.updated > 0 ? { lastUpdatedDate: formatTimestamp(date) } : {}),
  }
  if (dryRun) throw new DryRun(summary)
  return summary
}

/** Codes that the same input both describes and marks as removed, and those that it marks twice. */
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

/** The replacements that are not stored in the same words already. */
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

/**
 * Now, or where a clock was ahead the millisecond after the newest date stored or the import before. So it is later
 * than every date that a reader can have seen, those of records that are deleted by now among them.
 */
export async function nextDate(writer: Writer): Promise<number> {
  const { catalogue } = await readRevisions(writer)
  const newest = await writer.get<{ updated: number | null }>(
    `select max(start) as updated from occupation_date
     where span = 0 and filter = (select id from occupation_filter where major = '' and minor = '')`,
  )
  return Math.max(Date.now(), Math.max(catalogue.changed, newest?.updated ?? Number.NEGATIVE_INFINITY) + 1)
}

/** Turns records into rows of the staging table, and keeps their faults instead once there is one. */
class Staging {
  readonly faults = new FaultList()
  /** Records read so far, faulty ones included. */
  count = 0
  normalised = 0
  /** Codes that the input marks as removed. */
  readonly replacements: Replacement[] = []
  readonly repaired = { count: 0, first: [] as RepairedRecords['first'][number][] }
  readonly #records: AsyncIterable<SourceRecord | Fault>
  readonly #date: number
  readonly #keepDates: boolean
  readonly #onProgress: ((records: number) => void) | undefined

  constructor(
    records: AsyncIterable<SourceRecord | Fault>,
    date: number,
    keepDates: boolean,
    onProgress: ((records: number) => void) | undefined,
  ) {
    this.#records = records
    this.#date = date
    this.#keepDates = keepDates
    this.#onProgress = onProgress
  }

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
      // What could not be read at all is one more fault of the input, after those of the records before it.
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
    const rendered = this.#checkDate(record, renderRecord(record))
    if ('faults' in rendered) {
      this.faults.add(rendered.faults)
      // Nothing will be stored; the code is staged so that its repetition is found too.
      return rendered.code === undefined
        ? undefined
        : [this.count, file, line, rendered.code, this.#date, '', '[]', '']
    }
    const { code, hash, filters, content } = rendered
    if (rendered.normalised) this.normalised++
    if (rendered.repaired && ++this.repaired.count <= MOST_NAMED) {
      this.repaired.first.push({ file, line, occupationCode: code })
    }
    const updated = (this.#keepDates ? rendered.ownDate : undefined) ?? this.#date
    return [this.count, file, line, code, updated, hash, filters, renderDocument(content, updated)]
  }

  #checkDate(
    { file, line }: SourceRecord,
    rendered: RenderedRecord | FaultyRecord,
  ): RenderedRecord | FaultyRecord {
    const message = this.#keepDates ? findDateFault(rendered.ownDate) : undefined
    if (message === undefined) return rendered
    const fault = { file, line, field: 'lastUpdatedDate', message }
    const before = 'faults' in rendered ? rendered.faults : []
    return { ...rendered, faults: [...before, fault] }
  }
}

function findDateFault(date: number | undefined): string | undefined {
  const now = Date.now()
  if (date !== undefined && date > now)
    return `is ${formatTimestamp(date)}, in the future (it is ${formatTimestamp(now)} now)`
  return undefined
}

async function findRepeatedCodes(writer: Writer): Promise<Fault[]> {
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
    message: `repeats ${quote(code)} of ${first_file}:${first_line}`,
  }))
}
