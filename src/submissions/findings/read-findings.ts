import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { StateMissing } from '../../foundation/database/servers.ts'
import { joinTexts } from '../../foundation/database/utf8.ts'
import { BLOCK_FINDINGS, blockContext, DETAILS, DOCUMENTS, type Part, Unpacked } from './blocks.ts'
import { readRowDetails, readRowDocuments } from './finding-rows.ts'
import type { PublishedFinding } from './schema.ts'

/**
 * Reads the documents with the given ordinals, ascending, decrypted and joined by commas.
 *
 * @returns `undefined` for none
 * @throws {StateMissing} if one is missing: the run was deleted, or a standby does not have it yet
 */
export async function readJoined(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<Buffer | undefined> {
  if (ordinals.length === 0) return undefined
  const blocks = await readBlocks(reader, run, ordinals, sealer, [DOCUMENTS])
  if (blocks !== undefined) return blocks[DOCUMENTS].join(blocks.indexes)
  return joinTexts(await readRowDocuments(reader, run, ordinals, sealer))
}

/** The same, as objects with the details that the pages of the specified operation do not return. */
export async function readDetails(
  reader: Reader,
  { run }: { readonly run: number },
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<PublishedFinding[]> {
  if (ordinals.length === 0) return []
  const blocks = await readBlocks(reader, run, ordinals, sealer, [DOCUMENTS, DETAILS])
  if (blocks === undefined) return await readRowDetails(reader, run, ordinals, sealer)
  return blocks.indexes.map((index) => {
    const entry = JSON.parse(blocks[DOCUMENTS].text(index)) as PublishedFinding
    const detail = blocks[DETAILS].text(index)
    return detail === '' ? entry : { ...entry, ...(JSON.parse(detail) as PublishedFinding) }
  })
}

interface Blocks {
  readonly [DOCUMENTS]: Unpacked
  readonly [DETAILS]: Unpacked
  /** The position of each wanted finding in the blocks. */
  readonly indexes: readonly number[]
}

interface BlockRow {
  readonly block: number
  readonly part: Part
  readonly content: Uint8Array
}

/** The blocks with the given ordinals; `undefined` if the run has none, because its findings are stored in rows. */
async function readBlocks(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
  parts: readonly Part[],
): Promise<Blocks | undefined> {
  const wanted = [...new Set(ordinals.map((ordinal) => Math.floor(ordinal / BLOCK_FINDINGS)))]
  const rows = await selectBlocks(reader, run, wanted, parts)
  if (rows.length === 0) return undefined
  if (rows.length !== wanted.length * parts.length) throw new StateMissing()
  const unpack = (part: Part) =>
    new Unpacked(
      rows
        .filter((row) => row.part === part)
        .map(({ block, content }) => sealer.open(content, blockContext(run, part, block))),
    )
  const places = new Map(wanted.map((block, place) => [block, place]))
  const indexes = ordinals.map(
    (ordinal) =>
      (places.get(Math.floor(ordinal / BLOCK_FINDINGS)) ?? 0) * BLOCK_FINDINGS + (ordinal % BLOCK_FINDINGS),
  )
  const documents = unpack(DOCUMENTS)
  if ((indexes.at(-1) ?? 0) >= documents.count) throw new StateMissing()
  return {
    [DOCUMENTS]: documents,
    [DETAILS]: parts.includes(DETAILS) ? unpack(DETAILS) : documents,
    indexes,
  }
}

async function selectBlocks(
  reader: Reader,
  run: number,
  wanted: readonly number[],
  parts: readonly Part[],
): Promise<BlockRow[]> {
  const [first = 0, last = 0] = [wanted[0], wanted.at(-1)]
  const inRange = last - first + 1 === wanted.length
  // As a join, SQLite would compare every block of the run with every wanted one.
  const which = inRange
    ? 'block between $2 and $3'
    : `block in (select cast(wanted.value as bigint) from ${reader.dialect.elements('$2', 'wanted')})`
  const given: Value[] = inRange ? [first, last] : [JSON.stringify(wanted)]
  return await reader.all<BlockRow>(
    `select block, part, content from result_block
     where run = $1 and part in (${parts.join(', ')}) and ${which} order by part, block`,
    [run, ...given],
  )
}
