// Findings in rows of their own, as earlier versions stored them: see `blocks.ts` for those of today.
import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { RunMissing } from './run-missing.ts'
import type { PublishedFinding, ValidationEntry } from './schema.ts'
import type { Finding, FindingStore } from './store-run.ts'

/** The position of a finding, to which its encryption is bound. */
export function entryContext(run: number, ordinal: number): string {
  return `entry/${run}/${ordinal}`
}

export function detailContext(entry: string): string {
  return `detail/${entry}`
}

/** Stores findings in rows, as long as an older version of Mahi may read them. */
export class RowStore implements FindingStore {
  readonly table = 'result_entry'
  readonly columns = ['run', 'ordinal', 'document', 'detail']
  readonly #run: number
  readonly #sealing: Sealing
  #ordinal = 0

  constructor(run: number, sealing: Sealing) {
    this.#run = run
    this.#sealing = sealing
  }

  *add({ entry, detail }: Finding): Generator<readonly Value[]> {
    const ordinal = this.#ordinal++
    const context = entryContext(this.#run, ordinal)
    const document = this.#sealing.sealText(JSON.stringify(entry), context)
    const rest =
      detail === undefined ? null : this.#sealing.sealText(JSON.stringify(detail), detailContext(context))
    yield [this.#run, ordinal, document, rest]
  }

  *end(): Generator<readonly Value[]> {}
}

/**
 * Reads the decrypted documents with the given ordinals, in order.
 *
 * @throws {RunMissing} if one is missing: the run was deleted meanwhile
 */
export async function readRowDocuments(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<string[]> {
  const entries = await readEntries(reader, run, ordinals, 'document', sealer)
  return entries.map(({ document, recordText }) =>
    recordText === undefined ? document : JSON.stringify({ ...(JSON.parse(document) as object), recordText }),
  )
}

/** The same, as objects with their details. */
export async function readRowDetails(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<PublishedFinding[]> {
  const entries = await readEntries(reader, run, ordinals, 'document, detail', sealer)
  return entries.map(({ ordinal, document, detail, recordText }) => {
    const entry = JSON.parse(document) as ValidationEntry
    const context = detailContext(entryContext(run, ordinal))
    const rest = detail == null ? {} : (JSON.parse(sealer.openText(detail, context)) as PublishedFinding)
    return { ...entry, ...(recordText !== undefined && { recordText }), ...rest }
  })
}

/** Reads rows with their decrypted documents, and the texts of records that these lack. */
async function readEntries(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  columns: string,
  sealer: Sealer,
) {
  const rows = await readRows(reader, run, ordinals, `${columns}, text_of as "textOf"`)
  const texts = await readTexts(reader, run, rows, sealer)
  return rows.map((row) => ({
    ordinal: row.ordinal,
    detail: row.detail,
    document: openDocument(run, row, sealer),
    recordText: texts.get(row.textOf ?? -1),
  }))
}

/** The texts of records, by the ordinal of the first finding of each, that other findings refer to. */
async function readTexts(
  reader: Reader,
  run: number,
  rows: readonly EntryRow[],
  sealer: Sealer,
): Promise<ReadonlyMap<number, string | undefined>> {
  const wanted = new Set(rows.flatMap(({ textOf }) => textOf ?? []))
  const sources = await readRows(reader, run, [...wanted], 'document')
  return new Map(
    sources.map((row) => {
      const { recordText } = JSON.parse(openDocument(run, row, sealer)) as ValidationEntry
      return [row.ordinal, recordText]
    }),
  )
}

interface EntryRow {
  readonly ordinal: number
  readonly document: string
  readonly detail?: string | null
  /** The ordinal of the finding with the text of the record, if this one lacks it; no row is stored like this now. */
  readonly textOf?: number | null
}

function openDocument(run: number, { ordinal, document }: EntryRow, sealer: Sealer): string {
  return sealer.openText(document, entryContext(run, ordinal))
}

async function readRows(reader: Reader, run: number, ordinals: readonly number[], columns: string) {
  if (ordinals.length === 0) return []
  const rows = await reader.all<EntryRow>(
    // As a join, SQLite would compare every entry of the run with every ordinal.
    `select ordinal, ${columns} from result_entry where run = $1 and ordinal in
       (select cast(wanted.value as bigint) from ${reader.dialect.elements('$2', 'wanted')}) order by ordinal`,
    [run, JSON.stringify(ordinals)],
  )
  if (rows.length !== ordinals.length) throw new RunMissing()
  return rows
}
