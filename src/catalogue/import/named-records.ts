/** A record that a summary names. */
export interface NamedRecord {
  readonly file: string
  readonly line: number
  readonly occupationCode: string
  /** What is odd about the record, as a clause. */
  readonly doubt?: string
  /** The groups without a code. */
  readonly groups?: readonly string[]
}

/** The most records that a summary names for one reason. */
export const MOST_NAMED = 10

/** Records that a summary counts for one reason, and the first of them. */
export class NamedRecords {
  count = 0
  readonly first: NamedRecord[] = []

  add(record: NamedRecord): void {
    if (++this.count <= MOST_NAMED) this.first.push(record)
  }
}
