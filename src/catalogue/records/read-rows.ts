import type { SourceRecord } from '../../engines/records/index.ts'
import { FaultList, isFault } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import type { compileSchema } from '../../foundation/schema/compile.ts'
import { count } from '../../foundation/text/format-number.ts'

/** The most repaired rows that are listed. */
const MOST_LISTED = 10

/** The place of a field of a row. */
type LocateField = (field: string) => Omit<Fault, 'message'>

/** A checked row of a file, and the places of its fields. */
export interface ReadRow<Value> {
  readonly value: Value
  readonly locate: LocateField
}

/** The number of rows with repaired text that had been decoded with the wrong character set, and the first of them. */
export interface RepairedRows<Value> {
  readonly count: number
  readonly first: readonly (Value & { readonly file: string; readonly line: number })[]
}

/** Checks rows one at a time, and collects their faults and repairs. */
export class RowChecks<Value extends object> {
  readonly #faults = new FaultList()
  readonly #repaired: (Value & { file: string; line: number })[] = []
  readonly #read: ReturnType<typeof compileSchema>
  #count = 0

  /** @param read compiled with `repair`; its values have the type `Value` */
  constructor(read: ReturnType<typeof compileSchema>) {
    this.#read = read
  }

  /** Whether there are more faults than will be reported, so that looking for others is pointless. */
  get truncated(): boolean {
    return this.#faults.truncated
  }

  /** The rows repaired so far. */
  get repaired(): RepairedRows<Value> {
    return { count: this.#count, first: this.#repaired }
  }

  /** Checks a row; `undefined` if it is faulty or empty. */
  check(record: SourceRecord): (ReadRow<Value> & { readonly isRepaired: boolean }) | undefined {
    const { file, line } = record
    const locate: LocateField = (field) => ({ file, line, field, ...record.locate?.(field) })
    const { faults: found, damage, repaired: isRepaired, value } = this.#read(record.value)
    const faults = [...found, ...damage]
    const place = ({ field, message }: { field: string; message: string }) => ({ ...locate(field), message })
    this.add([...(record.faults ?? []), ...faults.map(place)])
    if (faults.length > 0 || value === undefined) return undefined
    const row = value as Value
    if (isRepaired && ++this.#count <= MOST_LISTED) this.#repaired.push({ file, line, ...row })
    return { value: row, locate, isRepaired }
  }

  add(faults: readonly Fault[]): void {
    this.#faults.add(faults)
  }

  /** @throws {InputRefused} with all faults found, up to MAX_FAULTS */
  throwIfFound(): void {
    this.#faults.throwIfFound()
  }
}

/**
 * Reads the rows of small files into memory.
 *
 * @param read compiled with `repair`; its values have the type `Value`
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readRows<Value extends object>(
  records: AsyncIterable<SourceRecord | Fault>,
  read: ReturnType<typeof compileSchema>,
): Promise<{ readonly rows: readonly ReadRow<Value>[]; readonly repaired: RepairedRows<Value> }> {
  const checks = new RowChecks<Value>(read)
  const rows: ReadRow<Value>[] = []
  for await (const record of records) {
    if (isFault(record)) checks.add([record])
    else {
      const row = checks.check(record)
      if (row !== undefined) rows.push(row)
    }
    if (checks.truncated) break
  }
  checks.throwIfFound()
  return { rows, repaired: checks.repaired }
}

/** The repaired rows as a member of a JSON object; nothing if there are none. */
export function withRepaired<Value>(repaired: RepairedRows<Value>): { repaired?: RepairedRows<Value> } {
  return repaired.count === 0 ? {} : { repaired }
}

/**
 * A warning that lists the repaired rows: a repair is an educated guess, and the source should be corrected. No lines
 * if there are none.
 */
export function describeRepaired<Value>(
  { count: total, first }: RepairedRows<Value>,
  noun: 'record' | 'row',
  describe: (row: Value) => string,
): string[] {
  if (total === 0) return []
  const listed = total > first.length ? ` (the first ${first.length} are shown)` : ''
  return [
    `Warning: the text of ${count(total, noun)} is UTF-8 that was decoded as Windows-1252 or Latin-1. It was repaired${listed}:`,
    ...first.map((row) => `  ${row.file}:${row.line}: ${describe(row)}`),
  ]
}
