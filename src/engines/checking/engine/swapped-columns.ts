import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Field, Resource } from '../definition/definition.ts'
import type { FileOf, FileState } from './file-state.ts'
import type { KeyPair } from './key-evidence.ts'
import type { FieldNatures } from './natures.ts'

/** The values of a sample that say something about a column. */
const LEAST_VALUES = 3
/** The part of a column's values that fail if it has those of another one. */
const SHARE = 0.9

/** The part of a column's values that are in another file, of its own column at most and of the right one at least. */
const FEW = 0.1

const isNumber = ({ type }: Field) => type === 'integer' || type === 'number' || type === 'year'
/** What only a field without a form accepts. */
const ANYTHING = '?! x'

/** Two columns of a file, each of which has the values of the other. */
export interface Swapped {
  readonly resource: Resource
  readonly fields: readonly [number, number]
}

/**
 * Finds the columns of a file whose values are swapped: nearly all values of one fail its checks, and the values of
 * each fit the other, and no third one.
 */
export function findSwapped(
  { resource, sample }: FileState,
  naturesOf: (field: Field) => FieldNatures,
): Swapped[] {
  const columns = resource.fields.map((field, at) => {
    const cells = sample.map((row) => (row[at] ?? '').trim())
    const values = cells.filter((cell) => !field.missingValues.includes(cell))
    const natures = naturesOf(field)
    const wrong = values.filter((value) => !natures.isValid(value) && !natures.isTypical(value)).length
    return { field, at, values, fails: wrong >= LEAST_VALUES && wrong >= values.length * SHARE }
  })
  const fits = (values: readonly string[], field: Field) =>
    values.length >= LEAST_VALUES && values.every((value) => naturesOf(field).isValid(value))
  // Numbers in a column of free text are no proof: many codes are numbers, and any value fits it.
  const acceptsAnything = (field: Field) => naturesOf(field).isValid(ANYTHING)
  const used = new Set<Field>()
  return columns.flatMap(({ field, at, values, fails }): Swapped[] => {
    if (!fails || used.has(field)) return []
    const others = columns.filter(
      (other) =>
        other.field !== field &&
        !used.has(other.field) &&
        !(isNumber(field) && acceptsAnything(other.field)) &&
        // A column with few values fits by chance.
        other.values.length * 2 >= values.length &&
        fits(values, other.field) &&
        fits(other.values, field),
    )
    // Another failing column says more than one whose values are right.
    const failed = others.filter((other) => other.fails)
    const [other, ...more] = failed.length > 0 ? failed : others
    if (other === undefined || more.length > 0) return []
    used.add(field).add(other.field)
    return [{ resource, fields: [Math.min(at, other.at), Math.max(at, other.at)] }]
  })
}

/**
 * Finds the columns that are swapped with one by which files refer to each other: nearly none of its values is in the
 * other file, and nearly all values of exactly one other column of its file are.
 */
export function findSwappedKeys(
  pairs: readonly KeyPair[],
  fileOf: FileOf,
  naturesOf: (field: Field) => FieldNatures,
): Swapped[] {
  const found = new Map<string, Swapped>()
  for (const [from, ofFile] of Map.groupBy(pairs, (pair) => pair.from)) {
    for (const [to, ofBoth] of Map.groupBy(ofFile, (pair) => pair.to)) {
      const share = compareFiles(fileOf(from.name), fileOf(to.name))
      const add = (resource: Resource, wrong: number, isRight: (column: number) => boolean) => {
        const right = [...resource.fields.keys()].filter((column) => column !== wrong && isRight(column))
        const [column = -1] = right
        const other = resource.fields[column]
        const values = fileOf(resource.name).sample.map((row) => (row[wrong] ?? '').trim())
        const fits = (value: string) =>
          value === '' || (other !== undefined && naturesOf(other).isValid(value))
        if (right.length !== 1 || !values.every(fits)) return
        const fields = [Math.min(wrong, column), Math.max(wrong, column)] as const
        found.set(`${resource.name}\n${fields.join()}`, { resource, fields })
      }
      for (const { field, reference } of ofBoth) {
        if (share(field, reference) > FEW) continue
        add(from, field, (column) => share(column, reference) >= SHARE)
        add(to, reference, (column) => share(field, column) >= SHARE)
      }
    }
  }
  return [...found.values()]
}

/** Compiles which part of the values in a column of a file another file has in a column. */
function compareFiles(from: FileState, to: FileState): (column: number, reference: number) => number {
  const columns = new Map<string, Set<number>>()
  const counts = from.resource.fields.map((_, column) => {
    const values = new Set(from.sample.map((row) => (row[column] ?? '').trim()))
    values.delete('')
    for (const value of values) getOrMake(columns, value, () => new Set()).add(column)
    return values.size
  })
  const found = new Map<string, Set<string>>()
  to.scan((cell) => {
    for (const reference of to.resource.fields.keys()) {
      const value = cell(reference).trim()
      for (const column of columns.get(value) ?? [])
        getOrMake(found, `${column}\n${reference}`, () => new Set()).add(value)
    }
  })
  return (column, reference) => {
    const count = counts[column] ?? 0
    return count < LEAST_VALUES ? 0 : (found.get(`${column}\n${reference}`)?.size ?? 0) / count
  }
}
