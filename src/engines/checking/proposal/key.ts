import type { RecordReader } from '../../records/index.ts'
import type { Column, Room } from './column.ts'
import { Distinct } from './column.ts'

/** Words with which the name of a key often ends. */
export const IDENTIFIER = /(?:id|code|key|number|identifier)$/i

/** The columns that may be parts of a key of several columns. */
const MOST_PARTS = 5
/** The fewest records that say something about such a key. */
const LEAST_RECORDS = 20

const isComplete = (column: Column, types: readonly string[]) =>
  column.isComplete && types.includes(column.form.type)

/** The column that probably identifies a record: the first one, or one that is named like a key. */
export function chooseKey(columns: readonly Column[]): Column | undefined {
  const unique = columns.filter((column) => column.isUnique && isComplete(column, ['string', 'integer']))
  return unique.find((column) => column === columns[0]) ?? unique.find(({ name }) => IDENTIFIER.test(name))
}

/**
 * The positions of the columns that may identify a record together: named like keys, or dates. None if a column does
 * so alone.
 */
export function listParts(columns: readonly Column[], records: number): number[] {
  if (records < LEAST_RECORDS || columns.some((column) => column.isUnique && column.isComplete)) return []
  return columns
    .flatMap((column, index) => {
      const isNamed = IDENTIFIER.test(column.name) && isComplete(column, ['string', 'integer'])
      return isNamed || isComplete(column, ['date']) ? [index] : []
    })
    .slice(0, MOST_PARTS)
}

/** Finds two or three of the columns whose values together never repeat. */
export class KeySearch {
  readonly #sets: { readonly parts: readonly number[]; readonly distinct: Distinct }[]

  constructor(parts: readonly number[], room: Room) {
    const pairs = parts.flatMap((one, at) => parts.slice(at + 1).map((other) => [one, other]))
    const triples = pairs.flatMap((pair) =>
      parts.filter((each) => each > (pair[1] ?? -1)).map((each) => [...pair, each]),
    )
    this.#sets = [...pairs, ...triples].map((each) => ({ parts: each, distinct: new Distinct(room) }))
  }

  add({ cells }: RecordReader): void {
    for (const { parts, distinct } of this.#sets)
      if (distinct.isOpen) distinct.add(parts.map((part) => cells[part]?.trim()).join('\0'))
  }

  /** The positions of the columns, as few as possible; `undefined` if there are none. */
  get found(): readonly number[] | undefined {
    return this.#sets.find(({ distinct }) => distinct.isOpen)?.parts
  }
}
