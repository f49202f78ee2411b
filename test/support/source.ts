import type { SourceRecord } from '../../src/engines/records/source-record.ts'

/** Values as the records of a file. */
export async function* sourceOf(values: readonly unknown[]): AsyncGenerator<SourceRecord> {
  for (const [index, value] of values.entries()) yield { file: 'test.ndjson', line: index + 1, value }
}
