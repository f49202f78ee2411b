import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { BLOCK, decodeOffsets, FILTER_FIELDS, FILTER_NAMES, type FilterName, nameValues } from './postings.ts'
import { RunMissing } from './run-missing.ts'

export type Filters = Readonly<Partial<Record<FilterName, string>>>

/** The run whose findings are read. */
export interface RunReference {
  readonly run: number
  readonly totalCount: number
}

/** A set of ordinals of a run: a bitmap for each non-empty block. */
export class Selection {
  readonly #blocks: readonly { readonly block: number; readonly bits: Uint8Array; readonly before: number }[]
  readonly total: number

  constructor(blocks: ReadonlyMap<number, Uint8Array>) {
    let before = 0
    this.#blocks = [...blocks]
      .sort(([one], [other]) => one - other)
      .map(([block, bits]) => {
        const entry = { block, bits, before }
        before += countBits(bits)
        return entry
      })
    this.total = before
  }

  /** The memory in bytes. */
  get weight(): number {
    return 200 + this.#blocks.length * (BLOCK / 8 + 100)
  }

  /** The others of so many findings. */
  complement(total: number): Selection {
    const bitmaps = new Map(this.#blocks.map(({ block, bits }) => [block, bits]))
    const others = new Map<number, Uint8Array>()
    for (let first = 0; first < total; first += BLOCK) {
      const known = bitmaps.get(first / BLOCK)
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
    const others = new Map(other.#blocks.map(({ block, bits }) => [block, bits]))
    return new Selection(intersect(new Map(this.#blocks.map(({ block, bits }) => [block, bits])), others))
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
 * Selects the findings of a run that match all filters.
 *
 * @throws {RunMissing} if the run is not stored
 */
export async function selectEntries(
  reader: Reader,
  { run, totalCount }: { readonly run: number; readonly totalCount: number },
  filters: Filters,
  sealer: Sealer,
): Promise<Selection> {
  // A submission without a run has no findings either.
  if (totalCount === 0) return new Selection(new Map())
  const names = FILTER_NAMES.filter((name) => filters[name] !== undefined)
  let blocks: Map<number, Uint8Array> | undefined
  for (const name of names) {
    const field = FILTER_FIELDS[name]
    // PostgreSQL accepts no NUL in text, so no stored value contains one.
    const given = filters[name]?.replaceAll('\0', '\ufffd') ?? ''
    const values = nameValues(sealer, run, field, given)
    // In one statement, so that a run that is deleted meanwhile is not one without matches.
    const rows = await reader.all<{ block: number | null; ordinals: Uint8Array }>(
      `select p.block, p.ordinals from submission_run r left join result_posting p
         on p.run = r.run and p.field = $2 and p.value in (${values.map((_, index) => `$${index + 3}`)})
       where r.run = $1 and r.status = 'Processed' and r.trimmed is null`,
      [run, field, ...values],
    )
    if (rows.length === 0) throw new RunMissing()
    const found = new Map(
      rows.flatMap(({ block, ordinals }) => (block === null ? [] : [[block, decodeOffsets(ordinals)]])),
    )
    blocks = blocks === undefined ? found : intersect(blocks, found)
  }
  return new Selection(blocks ?? new Map())
}

/** Selects the findings of a run that are posted under a name. */
export async function selectPosted(
  reader: Reader,
  run: number,
  field: string,
  value = '',
): Promise<Selection> {
  const rows = await reader.all<{ block: number; ordinals: Uint8Array }>(
    'select block, ordinals from result_posting where run = $1 and field = $2 and value = $3',
    [run, field, value],
  )
  return new Selection(new Map(rows.map(({ block, ordinals }) => [block, decodeOffsets(ordinals)])))
}

function intersect(one: ReadonlyMap<number, Uint8Array>, other: ReadonlyMap<number, Uint8Array>) {
  const both = new Map<number, Uint8Array>()
  for (const [block, bits] of one) {
    const others = other.get(block)
    if (others !== undefined)
      both.set(
        block,
        bits.map((byte, index) => byte & (others[index] ?? 0)),
      )
  }
  return both
}
