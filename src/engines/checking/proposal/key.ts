import type { Column } from './column.ts'

/** Words with which the name of a key often ends. */
export const IDENTIFIER = /(?:id|code|key|number|identifier)$/i

const isComplete = (column: Column, types: readonly string[]) =>
  column.isComplete && types.includes(column.form.type)

/** The column that probably identifies a record: the first one, or one that is named like a key. */
export function chooseKey(columns: readonly Column[]): Column | undefined {
  const unique = columns.filter((column) => column.isUnique && isComplete(column, ['string', 'integer']))
  return unique.find((column) => column === columns[0]) ?? unique.find(({ name }) => IDENTIFIER.test(name))
}
