import { formatNumber } from '../../../foundation/text/format-number.ts'
import { didYouMean, findSimilar, suggest } from '../../../foundation/text/suggest.ts'
import { trimName } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { shorten } from './shown-text.ts'

/** The positions of a schema's fields in a file. */
export interface Columns {
  /** The cell of each field; -1 if the file has no such column. */
  readonly positions: readonly number[]
  /** The cells of the header as they are in the file. */
  readonly header: readonly string[]
  /** How many cells each record must have. */
  readonly width: number
  /** The faults of the header, as full sentences. */
  readonly faults: readonly { readonly message: string; readonly field?: string }[]
  /** What was guessed, as full sentences. */
  readonly notes: readonly string[]
  /** Fields whose required column is missing. */
  readonly missing: ReadonlySet<number>
}

/** How the names begin of the columns that `mahi check --mark` adds: a marked file can be corrected and checked again. */
export const MARK_PREFIX = 'mahi:'

/**
 * Finds the columns of a file by the names in its header; their order does not matter.
 *
 * @param isExact whether the names were not written by people, so that another spelling is another name
 */
export function mapColumns(resource: Resource, header: readonly string[], isExact = false): Columns {
  const cells = header.map(trimName)
  const first = new Map<string, number>()
  const known = new Set(resource.fields.map(({ name }) => name))
  const unnamed: string[] = []
  const repeated: { name: string; column: number }[] = []
  const unknown: string[] = []
  for (const [index, cell] of cells.entries()) {
    if (cell.startsWith(MARK_PREFIX) && !known.has(cell)) continue
    if (cell === '') unnamed.push(String(index + 1))
    else if (first.has(cell)) repeated.push({ name: cell, column: index + 1 })
    else {
      first.set(cell, index)
      if (!known.has(cell)) unknown.push(cell)
    }
  }
  const faults: { message: string; field?: string }[] = []
  const notes: string[] = []
  for (const { name, cell } of isExact ? [] : findRespelt(resource.fields, unknown, first)) {
    first.set(name, first.get(cell) ?? -1)
    unknown.splice(unknown.indexOf(cell), 1)
    notes.push(`The column ${shorten(cell)} was read as ${name}.`)
  }
  const positions = resource.fields.map(({ name }) => first.get(name) ?? -1)
  const missing = new Set<number>()
  const comparable = unknown.slice(0, COMPARED)
  /** The unknown columns that are probably missing ones, whose only fault is then their name. */
  const misnamed = new Set<string>()
  for (const [index, { mayBeAbsent }] of resource.fields.entries())
    if (positions[index] === -1 && !mayBeAbsent) missing.add(index)
  if (!resource.missingColumns) {
    for (const index of missing) {
      const name = resource.fields[index]?.name ?? ''
      const isOnly = missing.size === 1 && comparable.length === 1 && !resource.unknownColumns
      const meant = isOnly
        ? comparable[0]
        : (findSimilar(name, comparable) ?? findMeant(resource.fields, index, missing, comparable))
      if (meant !== undefined) misnamed.add(meant)
      const hint = meant === undefined ? '' : didYouMean(shorten(meant))
      faults.push({ field: name, message: `The column ${name} is missing${hint}.` })
    }
  }
  const found = positions.filter((position) => position !== -1)
  if (resource.orderedColumns && found.some((position, index) => position < (found[index - 1] ?? 0))) {
    const names = resource.fields.map(({ name }) => name)
    faults.push({ message: `The columns must be in the order ${listFirst(names, shorten)}.` })
  }
  if (unnamed.length === 1) faults.push({ message: `Column ${unnamed[0]} has no name.` })
  else if (unnamed.length > 1)
    faults.push({ message: `${countColumns(unnamed)} have no name: ${listFirst(unnamed, (each) => each)}.` })
  const [again] = repeated
  if (again !== undefined && repeated.length === 1) {
    const { name, column } = again
    const message = `The column ${shorten(name)} is repeated: column ${column} has this name too.`
    faults.push({ field: name, message })
  } else if (again !== undefined) {
    const places = listFirst(repeated, ({ name, column }) => `${shorten(name)} (column ${column})`)
    faults.push({ message: `${countColumns(repeated)} repeat the name of an earlier one: ${places}.` })
  }
  const others = unknown.filter((name) => !misnamed.has(name))
  if (!resource.unknownColumns && others.length > 0) {
    const free = [...known].filter((name) => !first.has(name))
    const [only = ''] = others
    const message =
      others.length === 1
        ? `The column ${shorten(only)} is unknown${suggest(only, free)}.`
        : `${countColumns(others)} are unknown: ${listFirst(others, (name) => shorten(name) + suggest(name, free))}.`
    faults.push({ message })
  }
  return { positions, header, width: cells.length, faults, notes, missing }
}

/** The names of a header, those of fields as the fields have them: `LEARNER_ID` is `learnerId`. */
export function nameColumns(
  fields: readonly { readonly name: string }[],
  header: readonly string[],
): string[] {
  const names = header.map(trimName)
  const own = new Set(fields.map(({ name }) => name))
  const known = new Map(names.flatMap((name, index) => (own.has(name) ? [[name, index]] : [])))
  const unknown = [...new Set(names.filter((name) => name !== '' && !own.has(name)))]
  const respelt = new Map(findRespelt(fields, unknown, known).map(({ name, cell }) => [cell, name]))
  return names.map((name) => respelt.get(name) ?? name)
}

/** The fields whose column has their name in another case, or with other separators of words. */
function findRespelt(
  fields: readonly { readonly name: string }[],
  unknown: readonly string[],
  known: ReadonlyMap<string, number>,
): { name: string; cell: string }[] {
  const missing = fields.map(({ name }) => name).filter((name) => !known.has(name))
  if (missing.length === 0 || unknown.length > COMPARED) return []
  const cells = unknown.map((cell) => ({ cell, plain: plainName(cell) }))
  return missing.flatMap((name) => {
    const plain = plainName(name)
    const same = cells.filter((each) => each.plain === plain)
    const isOnly = missing.filter((each) => plainName(each) === plain).length === 1
    return same.length === 1 && isOnly && plain !== '' ? [{ name, cell: same[0]?.cell ?? '' }] : []
  })
}

/** The only unknown column that has the title of a missing field, or a part of its name and of no other one's. */
function findMeant(
  fields: Resource['fields'],
  index: number,
  missing: ReadonlySet<number>,
  unknown: readonly string[],
): string | undefined {
  const nameOf = (field: number) => plainName(fields[field]?.name ?? '')
  const meant = unknown.filter((cell) => {
    const plain = plainName(cell)
    if (plain === plainName(fields[index]?.title ?? '')) return true
    const named = plain.length < LEAST_PART ? [] : [...missing].filter((each) => nameOf(each).includes(plain))
    return named.length === 1 && named[0] === index
  })
  return meant.length === 1 ? meant[0] : undefined
}

/** What to do about a fault of the header, by the message of `mapColumns`. */
export function adviseOnHeader(message: string): string {
  if (message.startsWith('The columns must be in the order')) return 'Put the columns in this order.'
  if (message.includes(' is missing (did you mean '))
    return 'Rename the column if it is this one; otherwise add the missing one.'
  if (message.includes(' is missing')) return 'Add the column, or export the file with it.'
  if (message.includes(' no name')) return 'Delete what has no name, or name it as the definition does.'
  if (message.includes(' repeat')) return 'Keep one column of each name, and delete or rename the others.'
  return 'Delete what the definition does not have, or name it as the definition does.'
}

/** A name without its case and without what separates its words. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '')
}

/** A header can have 262,144 columns, but one finding names few of them. */
const NAMED = 5
const COUNTED = 1000
/** The unknown names that are compared with those of missing columns. */
const COMPARED = 1000
/** The fewest letters of a part of a name that say which one it is. */
const LEAST_PART = 4

function countColumns({ length }: readonly unknown[]): string {
  return length > COUNTED ? `More than ${formatNumber(COUNTED)} columns` : `${length} columns`
}

function listFirst<T>(all: readonly T[], describe: (each: T) => string): string {
  const shown = all.slice(0, NAMED).map(describe)
  return all.length > NAMED ? `${shown.join(', ')} and others` : shown.join(', ')
}
