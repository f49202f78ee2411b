import { formatNumber } from '../../../foundation/text/format-number.ts'
import { describeUnseen } from '../../../foundation/text/quote.ts'
import { didYouMean, findSimilar, suggest } from '../../../foundation/text/suggest.ts'
import { describeNoRecord, type RecordFault, trimName } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import type { FileFault } from './file-fault.ts'
import { shorten } from './shown-text.ts'

/** The positions of a schema's fields in a file. */
export interface Columns {
  /** The cell of each field; -1 if the file has no such column. */
  readonly positions: readonly number[]
  /** The cells of the header as they are in the file. */
  readonly header: readonly string[]
  /** How many cells each record must have. */
  readonly width: number
  readonly faults: readonly FileFault[]
  /** What is said of several faults of a group, as full sentences. */
  readonly groups: ReadonlyMap<string, { readonly message: string; readonly fix: string }>
  /** What was guessed, as full sentences. */
  readonly notes: readonly string[]
  /** Fields whose required column is missing. */
  readonly missing: ReadonlySet<number>
  /** The cells of the columns that `mahi check --mark` has added. */
  readonly marks: ReadonlySet<number>
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
  const marks = new Set<number>()
  for (const [index, cell] of cells.entries()) {
    if (cell.startsWith(MARK_PREFIX) && !known.has(cell)) marks.add(index)
    else if (cell === '') unnamed.push(String(index + 1))
    else if (first.has(cell)) repeated.push({ name: cell, column: index + 1 })
    else {
      first.set(cell, index)
      if (!known.has(cell)) unknown.push(cell)
    }
  }
  const faults: FileFault[] = []
  const groups = new Map<string, { message: string; fix: string }>()
  const notes: string[] = []
  for (const { name, cell } of isExact ? [] : findRespelt(resource.fields, unknown, first)) {
    first.set(name, first.get(cell) ?? -1)
    unknown.splice(unknown.indexOf(cell), 1)
    const unseen = describeUnseen(cell)
    notes.push(
      `The column ${shorten(cell.replace(/\p{Cf}/gu, ''))}${unseen === '' ? '' : `, with ${unseen},`} was read as ${name}.`,
    )
  }
  const positions = resource.fields.map(({ name }) => first.get(name) ?? -1)
  const missing = new Set<number>()
  const comparable = unknown.slice(0, COMPARED)
  /** The unknown columns that are probably missing ones, whose only fault is then their name. */
  const misnamed = new Set<string>()
  for (const [index, { mayBeAbsent }] of resource.fields.entries())
    if (positions[index] === -1 && !mayBeAbsent) missing.add(index)
  if (!resource.missingColumns) {
    const renamed: { name: string; cell: string; isSure: boolean }[] = []
    const absent: string[] = []
    for (const index of missing) {
      const field = resource.fields[index]
      const name = field?.name ?? ''
      const isOnly = missing.size === 1 && comparable.length === 1 && !resource.unknownColumns
      const synonym = field === undefined ? undefined : findSynonym(field, comparable)
      const meant =
        synonym ??
        (isOnly
          ? comparable[0]
          : (findSimilar(name, comparable) ?? findMeant(resource.fields, index, missing, comparable)))
      if (meant === undefined) absent.push(name)
      else {
        misnamed.add(meant)
        renamed.push({ name, cell: meant, isSure: synonym !== undefined })
      }
      const rest =
        synonym === undefined
          ? `is missing${meant === undefined ? '' : didYouMean(shorten(meant))}`
          : `has the name ${shorten(synonym)}`
      faults.push({
        field: name,
        message: `The column ${name} ${rest}.`,
        fix: meant === undefined ? ADD : synonym === undefined ? RENAME : 'Rename the column.',
        group: meant === undefined ? 'missing' : 'renamed',
      })
    }
    const pairs = renamed.map(({ name, cell }) => `${shorten(cell)} is probably ${name}`)
    if (renamed.length > 1)
      groups.set('renamed', {
        message: `${countColumns(renamed)} have other names: ${listFirst(pairs, (each) => each)}.`,
        fix: renamed.every(({ isSure }) => isSure)
          ? 'Rename the columns.'
          : 'Rename the columns that are these; otherwise add the missing ones.',
      })
    if (absent.length > 1)
      groups.set('missing', {
        message: `${countColumns(absent)} are missing: ${listFirst(absent, shorten)}.`,
        fix: 'Add the columns, or export the file with them.',
      })
  }
  const found = positions.filter((position) => position !== -1)
  if (resource.orderedColumns && found.some((position, index) => position < (found[index - 1] ?? 0))) {
    const names = resource.fields.map(({ name }) => name)
    const message = `The columns must be in the order ${listFirst(names, shorten)}.`
    faults.push({ message, fix: 'Put the columns in this order.', group: 'order' })
  }
  if (unnamed.length > 0) {
    const message =
      unnamed.length === 1
        ? `Column ${unnamed[0]} has no name.`
        : `${countColumns(unnamed)} have no name: ${listFirst(unnamed, (each) => each)}.`
    const fix = 'Delete what has no name, or name it as the definition does.'
    faults.push({ message, fix, group: 'unnamed' })
  }
  const [again] = repeated
  if (again !== undefined && repeated.length === 1) {
    const { name, column } = again
    const message = `The column ${shorten(name)} is repeated: column ${column} has this name too.`
    faults.push({ field: name, message, fix: KEEP_ONE, group: 'repeated' })
  } else if (again !== undefined) {
    const places = listFirst(repeated, ({ name, column }) => `${shorten(name)} (column ${column})`)
    const message = `${countColumns(repeated)} repeat the name of an earlier one: ${places}.`
    faults.push({ message, fix: KEEP_ONE, group: 'repeated' })
  }
  const others = unknown.filter((name) => !misnamed.has(name))
  if (!resource.unknownColumns && others.length > 0) {
    const free = [...known].filter((name) => !first.has(name))
    const [only = ''] = others
    const message =
      others.length === 1
        ? `The column ${shorten(only)} is unknown${suggest(only, free)}.`
        : `${countColumns(others)} are unknown: ${listFirst(others, (name) => shorten(name) + suggest(name, free))}.`
    faults.push({
      message,
      fix: 'Delete what the definition does not have, or name it as the definition does.',
      group: 'unknown',
    })
  }
  return { positions, header, width: cells.length, faults, groups, notes, missing, marks }
}

/** Why a row is no record, whatever its marks are; `undefined` if it is one, or its only cell is a value. */
export function describeNoRecordOf(
  { header, width, marks }: Pick<Columns, 'header' | 'width' | 'marks'>,
  cells: readonly string[],
  count: number,
): RecordFault | undefined {
  if (width - marks.size <= 1) return undefined
  if (marks.size === 0) return describeNoRecord(cells, count, header)
  const isOwn = (_: string, at: number) => !marks.has(at)
  const own = cells.slice(0, count).filter(isOwn)
  return describeNoRecord(own, own.length, header.filter(isOwn))
}

const ADD = 'Add the column, or export the file with it.'
const RENAME = 'Rename the column if it is this one; otherwise add the missing one.'
const KEEP_ONE = 'Keep one column of each name, and delete or rename the others.'

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

/** The only unknown column that has a name by which the definition says that others know the field. */
function findSynonym(
  { synonyms }: Resource['fields'][number],
  unknown: readonly string[],
): string | undefined {
  const plain = synonyms.map(plainName)
  const found = unknown.filter((cell) => plain.includes(plainName(cell)))
  return found.length === 1 ? found[0] : undefined
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

/** A name without its case, what separates its words, and what nobody sees. */
export function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\s_.\p{Cf}-]+/gu, '')
    .toLowerCase()
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
