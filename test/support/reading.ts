import type { SourceRecord } from '../../src/engines/records/source-record.ts'
import { InputRefused, isFault } from '../../src/foundation/faults/faults.ts'
import type { Fault } from '../../src/foundation/faults/user-error.ts'

/** What a reader comes upon, in its order; a refusal of the whole file comes last. Records are what they hold. */
export interface Read {
  readonly records: SourceRecord[]
  readonly faults: Fault[]
}

export async function readAll(items: AsyncIterable<SourceRecord | Fault>): Promise<Read> {
  const records: SourceRecord[] = []
  const faults: Fault[] = []
  try {
    for await (const item of items) {
      if (isFault(item)) faults.push(item)
      else if (item.faults !== undefined) faults.push(...item.faults)
      else {
        const { locate, locateLater, ...record } = item
        records.push(record)
      }
    }
  } catch (error) {
    if (!(error instanceof InputRefused)) throw error
    faults.push(...error.faults)
  }
  return { records, faults }
}

/** The bytes in chunks of a size, as a pipe may give them. */
export async function* inChunks(content: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content)
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}
