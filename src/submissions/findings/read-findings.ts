import type { LRUCache } from 'lru-cache'
import { cacheUpTo } from '../../api/serving/page-cache.ts'
import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { BLOCK_FINDINGS, blockContext, DETAILS, DOCUMENTS, type Part, textOf, unpackLines } from './blocks.ts'
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
  const lines = await readLines(reader, run, ordinals, sealer, DOCUMENTS)
  const bytes = lines.reduce((sum, { length }) => sum + length, 0)
  // Without the last comma.
  return Buffer.concat(lines, bytes - 1)
}

/** The same, as objects with the details that the pages of the specified operation do not return. */
export async function readDetails(
  reader: Reader,
  { run }: { readonly run: number },
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<PublishedFinding[]> {
  if (ordinals.length === 0) return []
  const documents = await readLines(reader, run, ordinals, sealer, DOCUMENTS)
  const details = await readLines(reader, run, ordinals, sealer, DETAILS)
  return documents.map((document, index) => ({
    ...(JSON.parse(textOf(document)) as PublishedFinding),
    ...(JSON.parse(textOf(details[index] ?? document)) as PublishedFinding),
  }))
}

/** The lines of the findings with the given ordinals. */
async function readLines(
  reader: Reader,
  run: number,
  ordinals: readonly number[],
  sealer: Sealer,
  part: Part,
): Promise<Buffer[]> {
  const blockOf = (ordinal: number) => Math.floor(ordinal / BLOCK_FINDINGS)
  const blocks = new Map<number, Buffer[]>()
  for (const { block, content } of await selectBlocks(reader, run, [...new Set(ordinals.map(blockOf))], part))
    blocks.set(block, unpack(sealer, content, blockContext(run, part, block)))
  return ordinals.map((ordinal) => {
    const line = blocks.get(blockOf(ordinal))?.[ordinal % BLOCK_FINDINGS]
    if (line === undefined) throw new RunMissing()
    return line
  })
}

/** Memory for unpacked blocks, in bytes: those of one page serve others, with filters and exports. */
const KEPT = 16 * 2 ** 20

interface KeptBlock {
  readonly content: Buffer
  readonly lines: Buffer[]
  readonly weight: number
}

/** By the keys that open them. */
const keptBy = new WeakMap<Sealer, LRUCache<string, KeptBlock>>()

/** The lines of a block. One with the same bytes is kept: numbers of runs can come again in a restored database. */
function unpack(sealer: Sealer, content: Uint8Array, context: string): Buffer[] {
  const kept = keptBy.get(sealer) ?? cacheUpTo<KeptBlock>(KEPT)
  keptBy.set(sealer, kept)
  const known = kept.get(context)
  if (known?.content.equals(content) === true) return known.lines
  const lines = unpackLines(sealer.open(content, context))
  const bytes = lines.reduce((sum, { length }) => sum + length, 0)
  // A copy: the driver may return a part of a larger buffer.
  kept.set(context, { content: Buffer.from(content), lines, weight: bytes + content.length + 2_000 })
  return lines
}

async function selectBlocks(
  reader: Reader,
  run: number,
  wanted: readonly number[],
  part: Part,
): Promise<{ readonly block: number; readonly content: Uint8Array }[]> {
  const [first = 0, last = 0] = [wanted[0], wanted.at(-1)]
  const inRange = last - first + 1 === wanted.length
  // As a join, SQLite would compare every block of the run with every wanted one.
  const which = inRange
    ? 'block between $2 and $3'
    : `block in (select cast(wanted.value as bigint) from ${reader.dialect.elements('$2', 'wanted')})`
  const given: Value[] = inRange ? [first, last] : [JSON.stringify(wanted)]
  return await reader.all(
    `select block, content from result_block where run = $1 and part = ${part} and ${which}`,
    [run, ...given],
  )
}
