import type { Value } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import type { ValidationEntry } from '../submission/validation-entry.ts'

/** The number of ordinals in a posting: a bitmap of them takes 8 KB. */
export const BLOCK = 65_536
const BITMAP_BYTES = BLOCK / 8

/**
 * The values of a field share so many rows in each block. Measured: a row for each value made a million findings of as
 * many students 1.2 million rows, which took a third of its time.
 */
const BUCKETS = 1024

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
export const POSTING_COLUMNS = ['run', 'field', 'bucket', 'block', 'total', 'ordinals']

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
      const buckets = Array.from({ length: BUCKETS }, (): List[] => [])
      for (const [value, offsets] of lists) {
        const name = nameValue(sealer, run, field, value)
        buckets[bucketOf(name)]?.push([name, offsets])
      }
      for (const bucket of buckets) if (bucket.length > 0) yield postingRow(run, field, block, bucket)
    }
    if (this.#count === 0) return
    const keys = Buffer.from(Uint32Array.from(this.#keys).buffer)
    yield [run, KEY_FIELD, 0, block, this.#count, sealing.seal(keys, keysContext(run, block))]
  }
}

/** A value, and the ascending offsets of the findings that have it in their block. */
type List = readonly [value: string, offsets: readonly number[]]

/** The row of a value: a number below `BUCKETS`. */
export function bucketOf(value: string): number {
  return hashKey(value)[1] % BUCKETS
}

/** A row of `result_posting` with the values of one bucket: of each, the two lengths, its text and its offsets. */
export function postingRow(run: number, field: string, block: number, lists: readonly List[]): Value[] {
  const most = ([value, offsets]: List) =>
    HEAD + 3 * value.length + 1 + Math.min(3 * offsets.length, BITMAP_BYTES + 2)
  const bytes = Buffer.allocUnsafe(lists.reduce((sum, list) => sum + most(list), 0))
  let at = 0
  let total = 0
  for (const [value, offsets] of lists) {
    const length = bytes.write(value, at + HEAD)
    const end = writeOffsets(bytes, at + HEAD + length, offsets)
    bytes.writeUInt32LE(length, at)
    bytes.writeUInt16LE(end - at - HEAD - length, at + 4)
    at = end
    total += offsets.length
  }
  return [run, field, bucketOf(lists[0]?.[0] ?? ''), block, total, bytes.subarray(0, at)]
}

const HEAD = 6

/** The findings that have one of these values, as a bitmap of their block. */
export function findPosted(posting: Uint8Array, values: readonly string[]): Uint8Array | undefined {
  const bytes = Buffer.from(posting.buffer, posting.byteOffset, posting.byteLength)
  const wanted = values.map((value) => Buffer.from(value))
  for (let at = 0; at < bytes.length; ) {
    const text = at + HEAD
    const offsets = text + bytes.readUInt32LE(at)
    const end = offsets + bytes.readUInt16LE(at + 4)
    // Measured: a third of the time of `compare`, because nearly all values differ in one of their first bytes.
    const isWanted = (value: Buffer) =>
      value.length === offsets - text && value.every((byte, index) => byte === bytes[text + index])
    if (wanted.some(isWanted)) return decodeOffsets(bytes.subarray(offsets, end))
    at = end
  }
  return undefined
}

/** Writes ascending offsets as differences in base 128, or as a bitmap if that is shorter, and returns their end. */
function writeOffsets(bytes: Buffer, start: number, offsets: readonly number[]): number {
  bytes[start] = 0
  let at = start + 1
  let last = -1
  for (const offset of offsets) {
    let difference = offset - last - 1
    for (; difference > 127; difference >>= 7) bytes[at++] = (difference & 127) | 128
    bytes[at++] = difference
    last = offset
    if (at - start > BITMAP_BYTES) break
  }
  if (at - start <= BITMAP_BYTES) return at
  const bitmap = bytes.fill(0, start, start + 1 + BITMAP_BYTES).subarray(start + 1)
  bytes[start] = 1
  for (const offset of offsets) bitmap[offset >> 3] = (bitmap[offset >> 3] ?? 0) | (1 << (offset & 7))
  return start + 1 + BITMAP_BYTES
}

/** Decodes offsets to a bitmap with one bit for each ordinal of their block. */
function decodeOffsets(data: Uint8Array): Uint8Array {
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
    yield [run, LEARNER_FIELD, 0, at / LEARNERS, some.length, Buffer.from(pairs.buffer)]
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
