import type { CsvColumn, SourceRecord } from '../../engines/records/index.ts'
import type { Reader, Writer } from '../../foundation/database/database.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { MAX_CODE_LENGTH } from './schema.ts'

/** A code that is removed from the catalogue, and its successors. */
export interface Replacement {
  readonly code: string
  readonly by: readonly string[]
  readonly file?: string
  readonly line?: number
}

/** The field of an import with the successors of a removed code: a list, or comma-separated codes. */
export const REPLACED_BY = 'replacedBy'

/** The same as a CSV column. */
export const REPLACED_BY_COLUMN: CsvColumn = {
  name: REPLACED_BY,
  path: [REPLACED_BY],
  read: String,
  write: String,
}

/** The most successors of one code. */
const MAX_SUCCESSORS = 100

/** The most codes that one import may replace, because they are held in memory. */
export const MAX_REPLACEMENTS = 100_000

/** Whether a record of an import marks its code as removed instead of describing it. */
export function isReplacement({ value }: SourceRecord): boolean {
  return (
    typeof value === 'object' && value !== null && ![undefined, null, ''].includes(read(value, REPLACED_BY))
  )
}

function read(value: object, name: string): never {
  return (value as Record<string, unknown>)[name] as never
}

/** Reads a record that lists the successors of its code. */
export function readReplacement({ file, line, value }: SourceRecord): Replacement | Fault[] {
  const { occupationCode, replacedBy, ...others } = value as Record<string, unknown>
  const faults: Fault[] = []
  const given = Object.entries(others).filter(([, each]) => each !== null && each !== '')
  if (given.length > 0) {
    const names = given.map(([name]) => name).join(', ')
    faults.push({
      field: REPLACED_BY,
      message: `marks the code as removed, so no other field is allowed; the record also has ${names}`,
    })
  }
  const code = typeof occupationCode === 'string' ? occupationCode.trim().normalize('NFC') : ''
  if (!isCode(code)) {
    faults.push({
      field: 'occupationCode',
      message: `must be a code of 1 to ${MAX_CODE_LENGTH} characters`,
    })
  }
  const by = typeof replacedBy === 'string' ? replacedBy.split(',') : replacedBy
  if (!Array.isArray(by) || by.length > MAX_SUCCESSORS || !by.every(isCodeText)) {
    faults.push({
      field: REPLACED_BY,
      message: `must be a list of 1 to ${MAX_SUCCESSORS} codes, or comma-separated text`,
    })
    return faults.map((fault) => ({ file, line, ...fault }))
  }
  if (faults.length > 0) return faults.map((fault) => ({ file, line, ...fault }))
  return { code, by: [...new Set(by.map((each: string) => each.trim().normalize('NFC')))], file, line }
}

function isCodeText(value: unknown): value is string {
  return typeof value === 'string' && isCode(value.trim())
}

function isCode(text: string): boolean {
  return text.length >= 1 && text.length <= MAX_CODE_LENGTH
}

/**
 * Finds the faults of replacements after they have been applied. A successor must be a code that the catalogue
 * contains or contained, and no chain of replacements may form a cycle.
 */
export async function findReplacementFaults(
  writer: Writer,
  replacements: readonly Replacement[],
): Promise<Fault[]> {
  if (replacements.length === 0) return []
  const successors = await readSuccessors(writer)
  const faults: Fault[] = []
  for (const { code, by, file, line } of replacements) {
    const place = { ...(file === undefined ? {} : { file }), ...(line === undefined ? {} : { line }) }
    const unknown: string[] = []
    for (const each of by) if (!successors.has(each) && !(await exists(writer, each))) unknown.push(each)
    if (unknown.length > 0) {
      const message = `names ${unknown.map((each) => quote(each)).join(', ')}, which the catalogue neither has nor had`
      faults.push({ ...place, field: REPLACED_BY, message })
    }
    const chain = findCycle(code, successors)
    if (chain !== undefined) {
      const message = `leads back to itself: ${chain.map((each) => quote(each)).join(' is replaced by ')}`
      faults.push({ ...place, field: REPLACED_BY, message })
    }
  }
  return faults
}

/** The successors of each removed code; codes in the catalogue have none. */
async function readSuccessors(reader: Reader): Promise<Map<string, readonly string[]>> {
  const rows = await reader.all<{ code: string; replaced_by: string }>(
    'select code, replaced_by from occupation_removed',
  )
  return new Map(rows.map(({ code, replaced_by }) => [code, JSON.parse(replaced_by) as string[]]))
}

async function exists(reader: Reader, code: string): Promise<boolean> {
  const row = await reader.get<{ code: string }>('select code from occupation where code = $1', [code])
  return row !== undefined
}

/** The codes of a cycle that starts and ends with a code. */
function findCycle(code: string, successors: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const seen = new Set<string>()
  const pending: string[][] = [[code]]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const next of successors.get(path.at(-1) ?? '') ?? []) {
      if (next === code) return [...path, next]
      if (seen.has(next)) continue
      seen.add(next)
      pending.push([...path, next])
    }
  }
  return undefined
}

/** A code that was removed. */
export interface RemovedCode {
  readonly code: string
  /** Milliseconds since 1970. */
  readonly removed: number
  /** The successors of the code. */
  readonly replacedBy: readonly string[]
}

/** The successors of a removed code, at the end of a clause about it; empty if none are known. */
export function describeSuccessors(replacedBy: readonly string[]): string {
  return replacedBy.length === 0 ? '' : `, replaced by ${replacedBy.map((each) => quote(each)).join(', ')}`
}

/** The tombstone of a code that was removed and has not returned; `undefined` if there is none. */
export async function readRemoved(reader: Reader, code: string): Promise<RemovedCode | undefined> {
  const row = await reader.get<{ code: string; removed: number; replaced_by: string }>(
    'select code, removed, replaced_by from occupation_removed where code = $1',
    [code],
  )
  if (row === undefined) return undefined
  return { code: row.code, removed: row.removed, replacedBy: JSON.parse(row.replaced_by) as string[] }
}
