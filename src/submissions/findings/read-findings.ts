import type { LRUCache } from 'lru-cache'
import { cacheUpTo } from '../../api/serving/page-cache.ts'
import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { BLOCK_FINDINGS, blockContext, DETAILS, DOCUMENTS, type Part, Unpacked } from './blocks.ts'
import { RunMissing } from './run-missing.ts'
import type { PublishedFinding } from './schema.ts'

/**
 * Reads the documents with the given ordinals, ascending, decrypted and joined by commas.
 *
 * @returns `undefined` for none
 * @throws {RunMissing} if one is missing: the run was deleted meanwhile
 */
export async function readJoined(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<Buffer | undefined> {
  if (ordinals.length === 0) return undefined
  return join(await readBlocks(reader, run, ordinals, sealer, [DOCUMENTS]))
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
  return blocks.map(({ [DOCUMENTS]: documents, [DETAILS]: details, index }) => {
    const entry = JSON.parse(documents.text(index)) as PublishedFinding
    const detail = details.text(index)
    return detail === '' ? entry : { ...entry, ...(JSON.parse(detail) as PublishedFinding) }
  })
}

/** A finding in its block. */
interface Place {
  readonly [DOCUMENTS]: Unpacked
  /** The documents again, unless details are read. */
  readonly [DETAILS]: Unpacked
  readonly index: number
}

interface BlockRow {
  readonly block: number
  readonly part: Part
  readonly content: Uint8Array
}

/** The findings with the given ordinals. */
async function readBlocks(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
  parts: readonly Part[],
): Promise<Place[]> {
  const wanted = [...new Set(ordinals.map((ordinal) => Math.floor(ordinal / BLOCK_FINDINGS)))]
  const rows = await selectBlocks(reader, run, wanted, parts)
  if (rows.length !== wanted.length * parts.length) throw new RunMissing()
  const blocks = {
    [DOCUMENTS]: new Map<number, Unpacked>(),
    [DETAILS]: new Map<number, Unpacked>(),
  }
  for (const row of rows) blocks[row.part].set(row.block, unpack(run, row, sealer))
  return ordinals.map((ordinal) => {
    const block = Math.floor(ordinal / BLOCK_FINDINGS)
    const index = ordinal % BLOCK_FINDINGS
    const documents = blocks[DOCUMENTS].get(block)
    if (documents === undefined || index >= documents.count) throw new RunMissing()
    return { [DOCUMENTS]: documents, [DETAILS]: blocks[DETAILS].get(block) ?? documents, index }
  })
}

/** Memory for unpacked blocks, in bytes: those of one page serve others, with filters and exports. */
const KEPT = 16 * 2 ** 20

interface KeptBlock {
  readonly content: Buffer
  readonly unpacked: Unpacked
  readonly weight: number
}

/** By the keys that open them. */
const keptBy = new WeakMap<Sealer, LRUCache<string, KeptBlock>>()

/** Unpacks a block, unless one with the same bytes is kept: numbers of runs can come again in a restored database. */
function unpack(run: number, { part, block, content }: BlockRow, sealer: Sealer): Unpacked {
  const kept = keptBy.get(sealer) ?? cacheUpTo<KeptBlock>(KEPT)
  keptBy.set(sealer, kept)
  const context = blockContext(run, part, block)
  const known = kept.get(context)
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (known?.content.equals(bytes) === true) return known.unpacked
  const unpacked = new Unpacked(sealer.open(bytes, context))
  // A copy: the driver may return a part of a larger buffer.
  kept.set(context, {
    content: Buffer.from(bytes),
    unpacked,
    weight: unpacked.weight + bytes.length,
  })
  return unpacked
}

/** The documents, joined by commas. Adjacent ones are copied together. */
function join(places: readonly Place[]): Buffer {
  const pieces: Buffer[] = []
  let [block, from, to]: [Unpacked | undefined, number, number] = [undefined, 0, 0]
  for (const { [DOCUMENTS]: documents, index } of places) {
    if (documents !== block || index !== to) {
      if (block !== undefined) pieces.push(block.slice(from, to))
      block = documents
      from = index
    }
    to = index + 1
  }
  if (block !== undefined) pieces.push(block.slice(from, to))
  const joined = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
  return joined.subarray(0, -1)
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
