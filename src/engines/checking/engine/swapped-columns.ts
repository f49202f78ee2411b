import type { Field, Resource } from '../definition/definition.ts'
import type { FieldNatures } from './natures.ts'

/** The values of a sample that say something about a column. */
const LEAST_VALUES = 3
/** The part of a column's values that fail if it has those of another one. */
const SHARE = 0.9

/** Two columns of a file, each of which has the values of the other. */
export interface Swapped {
  readonly key: string
  readonly fields: readonly [Field, Field]
}

/**
 * Finds the columns of a file whose values are swapped: nearly all values of one fail its checks, and the values of
 * each fit the other, and no third one.
 */
export function findSwapped(
  resource: Resource,
  sample: readonly (readonly string[])[],
  naturesOf: (field: Field) => FieldNatures,
): Swapped[] {
  const columns = resource.fields.map((field, at) => {
    const cells = sample.map((row) => (row[at] ?? '').trim())
    const values = cells.filter((cell) => !field.missingValues.includes(cell))
    const natures = naturesOf(field)
    const wrong = values.filter((value) => !natures.isValid(value) && !natures.isTypical(value)).length
    return { field, values, fails: wrong >= LEAST_VALUES && wrong >= values.length * SHARE }
  })
  const fits = (values: readonly string[], field: Field) =>
    values.length >= LEAST_VALUES && values.every((value) => naturesOf(field).isValid(value))
  const used = new Set<Field>()
  return columns.flatMap(({ field, values, fails }): Swapped[] => {
    if (!fails || used.has(field)) return []
    const others = columns.filter(
      (other) =>
        other.field !== field &&
        !used.has(other.field) &&
        // A column with few values fits by chance.
        other.values.length * 2 >= values.length &&
        fits(values, other.field) &&
        fits(other.values, field),
    )
    // Another failing column says more than one that accepts anything.
    const failed = others.filter((other) => other.fails)
    const [other, ...more] = failed.length > 0 ? failed : others
    if (other === undefined || more.length > 0) return []
    used.add(field).add(other.field)
    return [{ key: `column:${resource.name}:${field.name}:swapped`, fields: [field, other.field] }]
  })
}
