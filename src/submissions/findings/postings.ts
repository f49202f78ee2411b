import type { Value } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import type { ValidationEntry } from '../submission/validation-entry.ts'

/** The number of ordinals in a posting: a bitmap of them takes 8 KB. */
export const BLOCK = 65_536
const BITMAP_BYTES = BLOCK / 8

/** The fields of an entry that can be filtered, with their parameters. */
export const FILTER_FIELDS = {
  'Filter.ErrorType': 'errorType',
  'Filter.FileType': 'fileType',
  'Filter.ErrorCode': 'errorCode',
  'Filter.StudentId': 'studentId',
  'Filter.CourseCode': 'courseCode',
} as const satisfies Record<string, keyof ValidationEntry>
export type FilterName = keyof typeof FILTER_FIELDS
export const FILTER_NAMES = Object.keys(FILTER_FIELDS) as FilterName[]

/** The name of the posting with the hash of each finding's key, by ordinal. */
export const KEY_FIELD = 'key'

/** The name of the postings of causes: by number, because their keys may contain values of records. */
export const CAUSE_FIELD = 'cause'

/** The names of the postings of the findings that the run before did not have, and of those that only it had. */
export const NEW_FIELD = 'new'
export const FIXED_FIELD = 'fixed'

/** The name of the learners with findings, those with most first: the first finding of each, and how many it has. */
export const LEARNER_FIELD = 'learners'

/** The learners of a row. */
export const LEARNERS = 1_000

/** The columns of `result_posting`. */
export const POSTING_COLUMNS = ['run', 'field', 'value', 'block', 'total', 'ordinals']

/** Personal fields, which are not stored in plain text if encryption is on. */
const PERSONAL_FIELDS = ['studentId', 'courseCode'] as const satisfies (keyof ValidationEntry)[]
const PERSONAL: ReadonlySet<string> = new Set(PERSONAL_FIELDS)

/** The value under which new entries are posted. */
function nameValue(sealer: Sealer, run: number, field: string, value: string): string {
  return PERSONAL.has(field) ? sealer.hash(sealer.keyId, value, postingContext(run, field)) : value
}

/** The values under which stored entries may be posted, whichever key encrypted their run. */
export function nameValues(sealer: Sealer, run: number, field: string, value: string): string[] {
  return PERSONAL.has(field) ? sealer.hashes(value, postingContext(run, field)) : [value]
}

function postingContext(run: number, field: string): string {
  return `posting/${run}/${field}`
}

/** The position of a block's keys, to which their encryption is bound. */
export function keysContext(run: number, block: number): string {
  return `keys/${run}/${block}`
}

/** Collects the postings of one block of a run: the ordinals that have each value of each field. */
export class PostingBlock {
  readonly #lists = new Map<string, Map<string, number[]>>()
  readonly #keys: number[] = []
  #count = 0

  /**
   * @param key identifies the same finding in another run
   * @param cause the number of its cause, if that is known
   */
  add(entry: ValidationEntry, key: string, cause?: number): void {
    for (const field of Object.values(FILTER_FIELDS)) this.#post(field, entry[field])
    if (cause !== undefined) this.#post(CAUSE_FIELD, String(cause))
    this.#keys.push(...hashKey(key))
    this.#count++
  }

  #post(field: string, value: string | undefined): void {
    if (value === undefined) return
    let lists = this.#lists.get(field)
    if (lists === undefined) {
      lists = new Map()
      this.#lists.set(field, lists)
    }
    const list = lists.get(value)
    if (list === undefined) lists.set(value, [this.#count])
    else list.push(this.#count)
  }

  /** The rows of `result_posting`. */
  *rows(run: number, block: number, sealer: Sealer, sealing: Sealing): Generator<readonly Value[]> {
    for (const [field, lists] of this.#lists) {
      for (const [value, offsets] of lists) {
        const name = nameValue(sealer, run, field, value)
        yield [run, field, name, block, offsets.length, encodeOffsets(offsets)]
      }
    }
    if (this.#count === 0) return
    const keys = Buffer.from(Uint32Array.from(this.#keys).buffer)
    yield [run, KEY_FIELD, '', block, this.#count, sealing.seal(keys, keysContext(run, block))]
  }
}

/** Encodes ascending offsets as differences in base 128, or as a bitmap if that is shorter. */
export function encodeOffsets(offsets: readonly number[]): Buffer {
  const bytes: number[] = [0]
  let last = -1
  for (const offset of offsets) {
    let difference = offset - last - 1
    for (; difference > 127; difference >>= 7) bytes.push((difference & 127) | 128)
    bytes.push(difference)
    last = offset
    if (bytes.length > BITMAP_BYTES) break
  }
  if (bytes.length <= BITMAP_BYTES) return Buffer.from(bytes)
  const bitmap = Buffer.alloc(1 + BITMAP_BYTES, 0)
  bitmap[0] = 1
  for (const offset of offsets) {
    const at = 1 + (offset >> 3)
    bitmap[at] = (bitmap[at] ?? 0) | (1 << (offset & 7))
  }
  return bitmap
}

/** Decodes a posting to a bitmap with one bit for each ordinal of its block. */
export function decodeOffsets(data: Uint8Array): Uint8Array {
  if (data[0] === 1) return data.slice(1)
  const bitmap = new Uint8Array(BITMAP_BYTES)
  let offset = -1
  for (let at = 1; at < data.length; at++) {
    let byte = data[at] ?? 0
    let difference = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = data[++at] ?? 0
      difference |= (byte & 127) << shift
    }
    offset += difference + 1
    bitmap[offset >> 3] = (bitmap[offset >> 3] ?? 0) | (1 << (offset & 7))
  }
  return bitmap
}

/** A learner: its first finding, and the number of its findings. */
export interface LearnerCount {
  readonly first: number
  findings: number
}

/** The rows of the learners, in their order. */
export function* learnerRows(run: number, learners: readonly LearnerCount[]): Generator<readonly Value[]> {
  for (let at = 0; at < learners.length; at += LEARNERS) {
    const some = learners.slice(at, at + LEARNERS)
    const pairs = Uint32Array.from(some.flatMap(({ first, findings }) => [first, findings]))
    yield [run, LEARNER_FIELD, '', at / LEARNERS, some.length, Buffer.from(pairs.buffer)]
  }
}

export function decodeLearners(bytes: Uint8Array): LearnerCount[] {
  // Copied, because the words must be aligned.
  const pairs = new Uint32Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: pairs.length / 2 }, (_, at) => ({
    first: pairs[at * 2] ?? 0,
    findings: pairs[at * 2 + 1] ?? 0,
  }))
}

/** A 64-bit hash of a text, as two words: enough to distinguish the findings of a run, and cheaper than a digest. */
function hashKey(text: string): [number, number] {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return [high >>> 0, low >>> 0]
}
