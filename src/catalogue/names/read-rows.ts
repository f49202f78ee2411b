import type { SourceRecord } from '../../engines/records/index.ts'
import { FaultList, isFault, MAX_FAULTS } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import type { compileSchema } from '../../foundation/schema/compile.ts'

/** A checked row of a file, and the places of its fields. */
export interface ReadRow<Value> {
  readonly value: Value
  readonly locate: (field: string) => Omit<Fault, 'message'>
}

/**
 * Reads the rows of small files into memory.
 *
 * @param read compiled with `repair`; its values have the type `Value`
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readRows<Value>(
  records: AsyncIterable<SourceRecord | Fault>,
  read: ReturnType<typeof compileSchema>,
): Promise<ReadRow<Value>[]> {
  const faults = new FaultList()
  const doubts: Fault[] = []
  const rows: ReadRow<Value>[] = []
  let repaired = false
  for await (const record of records) {
    if (isFault(record)) faults.add([record])
    else {
      const { file, line } = record
      const locate = (field: string) => ({ file, line, field, ...record.locate?.(field) })
      const reading = read(record.value)
      const place = ({ field, message }: { field: string; message: string }) => ({
        ...locate(field),
        message,
      })
      faults.add([...(record.faults ?? []), ...reading.faults.map(place)])
      if (doubts.length <= MAX_FAULTS) doubts.push(...reading.doubts.map(place))
      if (reading.repaired) repaired = true
      if (reading.value !== undefined && reading.faults.length === 0)
        rows.push({ value: reading.value as Value, locate })
    }
    if (faults.truncated) break
  }
  if (repaired) faults.add(doubts)
  faults.throwIfFound()
  return rows
}
