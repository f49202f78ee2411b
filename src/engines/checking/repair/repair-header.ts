import { distance } from 'fastest-levenshtein'
import { trimName } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { nameColumns, plainName } from '../engine/columns.ts'

/** A column whose name is repaired. */
export interface Renaming {
  /** From 0. */
  readonly column: number
  readonly before: string
  readonly after: string
  readonly why: string
}

/** Shorter names are too similar by chance. */
const SHORTEST_MISSPELT = 8
/** How different a misspelt name must be from every name that is not meant. */
const LEAST_DIFFERENT = 4

/**
 * Finds columns whose name is surely that of a field in another form: other case, other separators of words, or one
 * wrong letter. The field must have no column, and no other column may be as similar.
 */
export function renameColumns({ fields }: Resource, header: readonly string[]): Renaming[] {
  const cells = header.map(trimName)
  const respelt = nameColumns(fields, header)
  const names = fields.map(({ name }) => name)
  const free = names.filter((name) => !cells.includes(name))
  const candidates = cells.flatMap((before, column) => {
    if (before === '' || names.includes(before)) return []
    const after = respelt[column] ?? before
    const field =
      after === before
        ? (findMisspelt(before, free, names) ?? findSynonym(before, fields, free))
        : { after, why: 'The column is named in another form.' }
    return field === undefined ? [] : [{ column, before, ...field }]
  })
  return candidates.filter(
    ({ after, column }) => !candidates.some((other) => other.after === after && other.column !== column),
  )
}

function findSynonym(cell: string, fields: Resource['fields'], free: readonly string[]) {
  const meant = fields.filter(({ synonyms }) => synonyms.some((each) => plainName(each) === plainName(cell)))
  const [field] = meant
  if (field === undefined || meant.length > 1 || !free.includes(field.name)) return undefined
  return { after: field.name, why: 'The definition knows the column by this other name.' }
}

function findMisspelt(
  cell: string,
  free: readonly string[],
  names: readonly string[],
): Pick<Renaming, 'after' | 'why'> | undefined {
  const plain = plainName(cell)
  if (plain.length < SHORTEST_MISSPELT) return undefined
  const digits = digitsOf(plain)
  const near = names.map((name) => ({ name, steps: distance(plainName(name), plain) }))
  const [best, second] = near.sort((one, other) => one.steps - other.steps)
  if (best?.steps !== 1 || !free.includes(best.name) || digitsOf(plainName(best.name)) !== digits)
    return undefined
  if (second !== undefined && second.steps < LEAST_DIFFERENT) return undefined
  return { after: best.name, why: 'The name of the column is misspelt by one letter.' }
}

function digitsOf(name: string): string {
  return name.replaceAll(/\D/g, '')
}
