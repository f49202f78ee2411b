import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Value } from '../../foundation/database/database.ts'
import type { Sealing } from '../../foundation/database/seal.ts'
import type { ValidationEntry } from '../submission/validation-entry.ts'
import type { PublishedFinding } from './schema.ts'

/** The source of a finding, stored beside its document, without which the specified pages are sent. */
type FindingDetail = Omit<PublishedFinding, keyof ValidationEntry>

export interface Finding {
  readonly entry: ValidationEntry
  readonly detail: FindingDetail
}

/** The specified operation returns the entry; the detail is for filters and comparisons. */
export function splitFinding(finding: PublishedFinding): Finding {
  const { file, line, field, value, findingKey, cause, ...entry } = finding
  // JSON leaves out what is undefined.
  return { entry, detail: { file, line, field, value, findingKey, cause } as FindingDetail }
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

const LF = 0x0a
const COMMA = 0x2c

/** For texts of some KiB: the tables of the defaults, made for each block, take longer than its bytes. */
const SMALL = { windowBits: 13, memLevel: 7, chunkSize: 4096 }

/** Packs JSON texts, which have no line ends, as compressed lines. */
export function packLines(texts: readonly string[]): Buffer {
  return deflateRawSync(`${texts.join('\n')}\n`, SMALL)
}

/**
 * The lines of a block. A comma follows each of them, so that they are a list together.
 *
 * @throws {Error} if the bytes are not those that were packed
 */
export function unpackLines(block: Uint8Array): Buffer[] {
  const bytes = inflateRawSync(block)
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
    bytes[end] = COMMA
    lines.push(bytes.subarray(start, end + 1))
    start = end + 1
  }
  return lines
}

/** A line without its comma. */
export const textOf = (line: Buffer): string => line.toString('utf8', 0, line.length - 1)

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

  /** Adds a finding. Returns whether the block is full, and its rows must be stored. */
  add({ entry, detail }: Finding): boolean {
    this.#texts[DETAILS].push(JSON.stringify(detail))
    return this.#texts[DOCUMENTS].push(JSON.stringify(entry)) === BLOCK_FINDINGS
  }

  /** Ends the block, and yields its rows. */
  *end(): Generator<readonly Value[]> {
    if (this.#texts[DOCUMENTS].length === 0) return
    for (const part of [DOCUMENTS, DETAILS] as const) {
      const context = blockContext(this.#run, part, this.#block)
      const packed = packLines(this.#texts[part])
      yield [this.#run, part, this.#block, this.#sealing.seal(packed, context)]
      this.#texts[part].length = 0
    }
    this.#block++
  }
}
