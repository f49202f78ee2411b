import { suggest } from '../../text/suggest.ts'
import type { Resource } from '../definition/definition.ts'

/** The positions of a schema's fields in a file. */
export interface Columns {
  /** The cell of each field; -1 if the file has no such column. */
  readonly positions: readonly number[]
  /** How many cells each record must have. */
  readonly width: number
  /** The faults of the header, as full sentences. */
  readonly faults: readonly { readonly message: string; readonly field?: string }[]
  /** Fields whose required column is missing. */
  readonly missing: ReadonlySet<number>
}

const SEPARATORS = [',', ';', '\t']

/** The separator with which the first line has the most known columns; a comma if none has any. */
export function detectSeparator(firstLine: string, names: readonly string[]): string {
  const known = new Set(names.map((name) => name.toLowerCase()))
  const scores = SEPARATORS.map((separator) => {
    const cells = firstLine.split(separator)
    return cells.filter((cell) => known.has(tidy(cell).toLowerCase())).length * 1000 + cells.length
  })
  return SEPARATORS[scores.indexOf(Math.max(...scores))] ?? ','
}

/** Finds the columns of a file by the names in its header; their order does not matter. */
export function mapColumns(resource: Resource, header: readonly string[]): Columns {
  const names = resource.fields.map(({ name }) => name)
  const cells = header.map(tidy)
  const faults: { message: string; field?: string }[] = []
  const positions = names.map((name) => cells.indexOf(name))
  const missing = new Set<number>()
  const unknown = cells.filter((cell) => !names.includes(cell))
  for (const [index, field] of resource.fields.entries()) {
    if (positions[index] !== -1 || field.mayBeAbsent) continue
    missing.add(index)
    if (resource.missingColumns) continue
    const near = suggest(field.name, unknown)
    faults.push({ field: field.name, message: `The column ${field.name} is missing${near}.` })
  }
  const free = names.filter((name) => !cells.includes(name))
  for (const [index, cell] of cells.entries()) {
    const place = `Column ${index + 1}`
    if (cell === '') faults.push({ message: `${place} has no name.` })
    else if (cells.indexOf(cell) !== index)
      faults.push({
        field: cell,
        message: `The column ${show(cell)} is repeated: ${place.toLowerCase()} has this name too.`,
      })
    else if (!names.includes(cell) && !resource.unknownColumns)
      faults.push({ message: `The column ${show(cell)} is unknown${suggest(cell, free)}.` })
  }
  return { positions, width: cells.length, faults, missing }
}

function tidy(cell: string): string {
  return cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()
}

function show(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name
}
