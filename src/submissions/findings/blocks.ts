import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Value } from '../../foundation/database/database.ts'
import type { Sealing } from '../../foundation/database/seal.ts'
import type { PublishedFinding, ValidationEntry } from './schema.ts'

/** The source of a finding, stored beside its document, without which the specified pages are sent. */
type FindingDetail = Omit<PublishedFinding, keyof ValidationEntry>

export interface Finding {
  readonly entry: ValidationEntry
  readonly detail?: FindingDetail
}

/** The number of findings that are compressed together: a page of 20 reads one block, and one of 100 five. */
export const BLOCK_FINDINGS = 20

/** What a block has of each finding: its document, as it is sent, or the details beside it. */
export const DOCUMENTS = 0
export const DETAILS = 1
export type Part = typeof DOCUMENTS | typeof DETAILS

/** The position of a block, to which its encryption is bound. */
export function blockContext(run: number, part: Part, block: number): string {
  return `block/${run}/${part}/${block}`
}

/** What ends a flushed block of DEFLATE (RFC 1951). It is not stored, but added again before reading, like in RFC 7692. */
const FLUSHED = Buffer.of(0, 0, 0xff, 0xff)

/**
 * Packs texts: their number, the length of each in bytes, in base 128, and their compressed bytes. A comma follows each
 * text, so that a range of them is a list.
 */
export function packTexts(texts: readonly string[]): Buffer {
  const pieces = texts.map((text) => Buffer.from(`${text},`))
  const lengths = [pieces.length]
  for (const { length } of pieces) {
    let rest = length
    for (; rest > 127; rest >>>= 7) lengths.push((rest & 127) | 128)
    lengths.push(rest)
  }
  const compressed = deflateRawSync(Buffer.concat(pieces), { finishFlush: constants.Z_SYNC_FLUSH })
  return Buffer.concat([Buffer.from(lengths), compressed.subarray(0, -FLUSHED.length)])
}

/** Stores findings in compressed blocks: a text that several of them share takes almost no room again. */
export class BlockStore {
  readonly #run: number
  readonly #sealing: Sealing
  readonly #texts: Readonly<Record<Part, string[]>> = { [DOCUMENTS]: [], [DETAILS]: [] }
  #block = 0

  constructor(run: number, sealing: Sealing) {
    this.#run = run
    this.#sealing = sealing
  }

  /** The rows that can be stored now that a finding is added. */
  *add({ entry, detail }: Finding): Generator<readonly Value[]> {
    this.#texts[DOCUMENTS].push(JSON.stringify(entry))
    this.#texts[DETAILS].push(detail === undefined ? '' : JSON.stringify(detail))
    if (this.#texts[DOCUMENTS].length === BLOCK_FINDINGS) yield* this.end()
  }

  /** The rows that are left. */
  *end(): Generator<readonly Value[]> {
    if (this.#texts[DOCUMENTS].length === 0) return
    for (const part of [DOCUMENTS, DETAILS] as const) {
      const context = blockContext(this.#run, part, this.#block)
      const packed = packTexts(this.#texts[part])
      yield [this.#run, part, this.#block, this.#sealing.seal(packed, context)]
      this.#texts[part].length = 0
    }
    this.#block++
  }
}

/** The texts of a block. */
export class Unpacked {
  readonly #bytes: Buffer
  /** Where each text starts, and where the last one ends. */
  readonly #starts: readonly number[]

  /** @throws {Error} if the bytes are not those that were packed */
  constructor(block: Buffer) {
    const starts = [0]
    let end = 0
    let at = 1
    for (let text = block[0] ?? 0; text > 0; text--) {
      let length = 0
      for (let shift = 0; ; shift += 7) {
        const byte = block[at++] ?? 0
        length |= (byte & 127) << shift
        if (byte < 128) break
      }
      end += length
      starts.push(end)
    }
    this.#bytes = inflateRawSync(Buffer.concat([block.subarray(at), FLUSHED]), {
      finishFlush: constants.Z_SYNC_FLUSH,
      chunkSize: Math.max(64, end),
      maxOutputLength: end + 1,
    })
    if (this.#bytes.length !== end) throw new Error('the stored findings are damaged')
    this.#starts = starts
  }

  get count(): number {
    return this.#starts.length - 1
  }

  /** The bytes in memory. */
  get weight(): number {
    return this.#bytes.length + 500
  }

  text(index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], (this.#starts[index + 1] ?? 1) - 1)
  }

  /** The bytes of the texts from one index to before another, with a comma after each. */
  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#starts[from], this.#starts[to])
  }
}
