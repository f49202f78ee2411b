import { parseRecord, SEPARATORS, splitRecord } from '../engines/records/index.ts'

/** The cells of a record with their columns; `undefined` if the text cannot be parsed. */
export function readRecord(
  text: string,
  columns: readonly string[] | undefined,
): readonly (readonly [string, string])[] | undefined {
  if (text.startsWith('{')) {
    const { record } = parseRecord(text)
    return (
      record &&
      Object.entries(record).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ])
    )
  }
  if (columns === undefined) return undefined
  const cells = SEPARATORS.map((separator) => splitRecord(text, separator)).find(
    (each) => each?.length === columns.length,
  )
  return cells?.map((cell, index) => [columns[index] ?? '', cell])
}

/** A value of a record, of which the beginning says enough. */
export const shorten = (value: string, most = 80): string =>
  value.length > most ? `${value.slice(0, most)}…` : value
