/**
 * A table that is looked up by data. It has no prototype: `constructor`, as the text of a cell or a parameter, is no entry
 * of it.
 */
export function lookUp<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null), entries)
}
