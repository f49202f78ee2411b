import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import {
  BLOCK,
  bucketOf,
  FILTER_FIELDS,
  FILTER_NAMES,
  type FilterName,
  findPosted,
  nameValues,
} from './postings.ts'
import { RunMissing } from './run-missing.ts'

export type Filters = Readonly<Partial<Record<FilterName, string>>>

/** The run whose findings are read. */
export interface RunReference {
  readonly run: number
  readonly totalCount: number
}

/** The ordinals of findings as bitmaps, by block. */
export type Bitmaps = ReadonlyMap<number, Uint8Array>

/** A block of a selection, with the number of its findings up to its beginning and its end. */
interface CountedBlock {
  readonly block: number
  readonly bits: Uint8Array
  readonly before: number
  readonly after: number
}

/** A set of ordinals of a run: a bitmap for each non-empty block. */
export class Selection {
  readonly #bitmaps: Bitmaps
  #counted: readonly CountedBlock[] | undefined

  constructor(bitmaps: Bitmaps) {
    this.#bitmaps = bitmaps
  }

  /** Counted when they are needed: what is narrowed further is not. */
  get #blocks(): readonly CountedBlock[] {
    let after = 0
    this.#counted ??= [...this.#bitmaps]
      .sort(([one], [other]) => one - other)
      .map(([block, bits]) => {
        const before = after
        after += countBits(bits)
        return { block, bits, before, after }
      })
    return this.#counted
  }

  get total(): number {
    return this.#blocks.at(-1)?.after ?? 0
  }

  /** The memory in bytes. */
  get weight(): number {
    return 200 + this.#bitmaps.size * (BLOCK / 8 + 100)
  }

  /** The others of so many findings. */
  complement(total: number): Selection {
    const others = new Map<number, Uint8Array>()
    for (let first = 0; first < total; first += BLOCK) {
      const known = this.#bitmaps.get(first / BLOCK)
      const bits = new Uint8Array(BLOCK / 8)
      for (let at = 0; at * 8 < Math.min(BLOCK, total - first); at++) {
        const end = total - first - at * 8
        bits[at] = ~(known?.[at] ?? 0) & (end < 8 ? (1 << end) - 1 : 255)
      }
      others.set(first / BLOCK, bits)
    }
    return new Selection(others)
  }

  /** What both select. */
  and(other: Selection): Selection {
    const both = new Map<number, Uint8Array>()
    for (const [block, bits] of this.#bitmaps) {
      const others = other.#bitmaps.get(block)
      if (others === undefined) continue
      both.set(
        block,
        bits.map((byte, index) => byte & (others[index] ?? 0)),
      )
    }
    return new Selection(both)
  }

  /** At most `count` ordinals from the `first`-th on. Seeking costs the same everywhere. */
  slice(first: number, count: number): number[] {
    const ordinals: number[] = []
    let at = this.#blocks.findLastIndex(({ before }) => before <= first)
    let skip = first - (this.#blocks[at]?.before ?? 0)
    for (; at >= 0 && at < this.#blocks.length && ordinals.length < count; at++) {
      const entry = this.#blocks[at]
      if (entry === undefined) break
      for (let index = 0; index < entry.bits.length && ordinals.length < count; index++) {
        const byte = entry.bits[index] ?? 0
        const bits = BITS[byte] ?? 0
        if (skip >= bits) {
          skip -= bits
          continue
        }
        for (let bit = 0; bit < 8 && ordinals.length < count; bit++) {
          if ((byte & (1 << bit)) === 0) continue
          if (skip > 0) skip--
          else ordinals.push(entry.block * BLOCK + index * 8 + bit)
        }
      }
    }
    return ordinals
  }
}

const BITS = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

function countBits(bits: Uint8Array): number {
  let count = 0
  for (const byte of bits) count += BITS[byte] ?? 0
  return count
}

/** At most `count` ordinals from the `first`-th on: of a selection, or of all findings of a run, as many as `total`. */
export function ordinalsOf(
  selected: Selection | undefined,
  total: number,
  first: number,
  count: number,
): number[] {
  if (selected !== undefined) return selected.slice(first, count)
  return Array.from({ length: Math.max(0, Math.min(count, total - first)) }, (_, at) => first + at)
}

/**
 * Selects the findings of a run that match all filters; `undefined` without filters.
 *
 * @throws {RunMissing} if the run is not stored
 */
export async function selectEntries(
  reader: Reader,
  { run, totalCount }: RunReference,
  filters: Filters,
  sealer: Sealer,
): Promise<Selection | undefined> {
  let selected: Selection | undefined
  for (const name of FILTER_NAMES) {
    const given = filters[name]
    if (given === undefined) continue
    // A submission without a run has no findings either.
    if (totalCount === 0) return new Selection(new Map())
    const field = FILTER_FIELDS[name]
    // PostgreSQL accepts no NUL in text, so no stored value contains one.
    const values = nameValues(sealer, run, field, given.replaceAll('\0', '\ufffd'))
    const found = await selectPosted(reader, run, field, values)
    selected = selected?.and(found) ?? found
  }
  return selected
}

/**
 * Selects the findings of a run that are posted under one of these values, of which findings have at most one.
 *
 * @throws {RunMissing} if the run is not stored
 */
export async function selectPosted(
  reader: Reader,
  run: number,
  field: string,
  values: readonly string[] = [''],
): Promise<Selection> {
  // In one statement, so that a run that is deleted meanwhile is not one without matches.
  const rows = await reader.all<{ block: number | null; ordinals: Uint8Array }>(
    `select p.block, p.ordinals from submission_run r left join result_posting p
       on p.run = r.run and p.field = $2 and p.bucket in (${values.map((_, index) => `$${index + 3}`)})
     where r.run = $1 and r.status = 'Processed' and r.trimmed is null`,
    [run, field, ...values.map(bucketOf)],
  )
  if (rows.length === 0) throw new RunMissing()
  return new Selection(
    new Map(
      rows.flatMap(({ block, ordinals }) => {
        const bits = block === null ? undefined : findPosted(ordinals, values)
        return block === null || bits === undefined ? [] : [[block, bits]]
      }),
    ),
  )
}
