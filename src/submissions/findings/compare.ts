import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { hashPair } from '../../foundation/text/seeded-hash.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import type { SubmissionWriter } from '../submission/lock.ts'
import type { Bitmaps, RunReference } from './filters.ts'
import {
  BLOCK,
  FIXED_FIELD,
  KEY_FIELD,
  keysContext,
  NEW_FIELD,
  POSTING_COLUMNS,
  postingRow,
} from './postings.ts'
import { RunMissing } from './run-missing.ts'

/**
 * Compares a run with the one before, and stores which of its findings are new and which of the other's are fixed.
 * Identical findings are matched one to one, by their keys.
 *
 * @throws {RunMissing} if one of them is not stored
 */
export async function storeComparison(
  writer: SubmissionWriter,
  from: RunReference,
  to: RunReference,
  sealer: Sealer,
): Promise<void> {
  const table = new KeyTable(from.totalCount)
  for await (const { keys, block } of readKeys(writer, from, sealer)) table.add(keys, block)
  const added = new Map<number, Uint8Array>()
  for await (const { keys, block } of readKeys(writer, to, sealer)) {
    const bits = new Uint8Array(BLOCK / 8)
    for (let index = 0; index < keys.length; index += 2)
      if (!table.take(keys[index] ?? 0, keys[index + 1] ?? 0)) setBit(bits, index / 2)
    added.set(block, bits)
  }
  await writer.load('result_posting', POSTING_COLUMNS, [
    ...toRows(to.run, NEW_FIELD, added),
    ...toRows(to.run, FIXED_FIELD, table.left()),
  ])
  await writer.run('update submission_run set previous = $2 where run = $1', [to.run, from.run])
}

function toRows(run: number, field: string, bitmaps: Bitmaps): Value[][] {
  return [...bitmaps].map(([block, bits]) => postingRow(run, field, block, [['', listOffsets(bits)]]))
}

function listOffsets(bits: Uint8Array): number[] {
  const offsets: number[] = []
  for (const [at, byte] of bits.entries())
    for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) offsets.push(at * 8 + bit)
  return offsets
}

async function* readKeys(reader: Reader, { run, totalCount }: RunReference, sealer: Sealer) {
  for (let block = 0; block * BLOCK < totalCount; block++) {
    const row = await reader.get<{ ordinals: Uint8Array }>(
      'select ordinals from result_posting where run = $1 and field = $2 and bucket = 0 and block = $3',
      [run, KEY_FIELD, block],
    )
    if (row === undefined) throw new RunMissing()
    const bytes = sealer.open(row.ordinals, keysContext(run, block))
    // Copied, because the words must be aligned.
    yield { block, keys: new Uint32Array(new Uint8Array(bytes).buffer) }
    await takeTurn()
  }
}

function setBit(bits: Uint8Array, offset: number): void {
  bits[offset >> 3] = (bits[offset >> 3] ?? 0) | (1 << (offset & 7))
}

/**
 * Maps keys to ordinals in an open-addressing hash table of typed arrays: a million keys take 32 MB. The ordinals of
 * a key form a linked list, so that many identical findings cost no more than others.
 */
class KeyTable {
  readonly #mask: number
  readonly #high: Uint32Array
  readonly #low: Uint32Array
  /** The last ordinal of each slot's key plus one, `EMPTY` if none are left, or 0 for a free slot. */
  readonly #heads: Int32Array
  /** For each ordinal, the next one of the same key plus one. */
  readonly #next: Int32Array

  constructor(count: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(16, count * 2)))
    this.#mask = size - 1
    this.#high = new Uint32Array(size)
    this.#low = new Uint32Array(size)
    this.#heads = new Int32Array(size)
    this.#next = new Int32Array(count)
  }

  add(keys: Uint32Array, block: number): void {
    for (let index = 0; index < keys.length; index += 2) {
      const high = keys[index] ?? 0
      const low = keys[index + 1] ?? 0
      const at = this.#find(high, low)
      const ordinal = block * BLOCK + index / 2
      this.#next[ordinal] = this.#heads[at] ?? 0
      this.#high[at] = high
      this.#low[at] = low
      this.#heads[at] = ordinal + 1
    }
  }

  /** Whether an unmatched finding has this key, which is then marked as matched. */
  take(high: number, low: number): boolean {
    const at = this.#find(high, low)
    const head = this.#heads[at] ?? 0
    if (head <= 0) return false
    this.#heads[at] = this.#next[head - 1] || EMPTY
    return true
  }

  /** The unmatched ordinals as bitmaps. */
  left(): Bitmaps {
    const blocks = new Map<number, Uint8Array>()
    for (const head of this.#heads) {
      for (let each = head; each > 0; each = this.#next[each - 1] ?? 0) {
        const block = Math.floor((each - 1) / BLOCK)
        const bits = blocks.get(block) ?? new Uint8Array(BLOCK / 8)
        setBit(bits, (each - 1) % BLOCK)
        blocks.set(block, bits)
      }
    }
    return blocks
  }

  /** The slot of a key, or the free slot where it belongs. */
  #find(high: number, low: number): number {
    let at = hashPair(high, low) & this.#mask
    while (this.#heads[at] !== 0 && (this.#high[at] !== high || this.#low[at] !== low))
      at = (at + 1) & this.#mask
    return at
  }
}

/** A slot whose key has no ordinals left. */
const EMPTY = -1
