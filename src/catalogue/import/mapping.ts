import {
  type CsvColumn,
  type FieldPath,
  findFlatColumn,
  type ListSeparator,
  type Mapping,
  parseYaml,
  pick,
  put,
  readText,
  type Target,
} from '../../engines/records/index.ts'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import type { TSchema } from '../../foundation/schema/type.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'

/** Short names for a record's Primary groups, which spreadsheets have in separate columns. */
const ALIASES: readonly (readonly [string, string])[] = [
  ['minorGroup.', 'minorGroups.1.minorGroup.'],
  ['majorGroup.', 'minorGroups.1.minorGroup.majorGroups.1.majorGroup.'],
]

const KEYS = ['columns', 'constants', 'noValue', 'separator', 'quote', 'sheet', 'headerRow']

/**
 * Reads a mapping in YAML or JSON.
 *
 * @param fields the names that `columns` may map to, for suggestions
 * @throws {InputRefused} with every fault
 */
export async function readMapping(
  file: string,
  schema: TSchema,
  fields: readonly string[],
): Promise<Mapping> {
  const given = await parseMapping(file)
  const faults: Fault[] = []
  const fault = (message: string, field?: string) =>
    faults.push({ file, ...(field !== undefined && { field }), message })
  for (const key of Object.keys(given)) {
    if (!KEYS.includes(key))
      fault(`has the unknown key ${quote(key)}${suggest(key, KEYS)}; keys are ${KEYS.join(', ')}`)
  }
  const find: Find = (field, where) => {
    const name = typeof field === 'string' ? field : ''
    const target = findTarget(schema, name)
    if (target === undefined) fault(`names the unknown field ${quote(name)}${suggest(name, fields)}`, where)
    return target
  }

  const columns = new Map<string, Target | null>()
  const single = new Map<string, string>()
  for (const [column, value] of Object.entries(objectAt(given, 'columns', fault))) {
    if (value === null) {
      columns.set(column, null)
      continue
    }
    const { field, separator, ...others } =
      typeof value === 'object' ? (value as Record<string, unknown>) : { field: value }
    const where = `columns.${column}`
    for (const other of Object.keys(others))
      fault(`has the unknown key ${quote(other)}; keys are field, separator`, where)
    const target = find(field, where)
    if (target === undefined) continue
    const isValid = isSeparator(separator)
    if (separator !== undefined && !isValid) {
      fault('must be a text of at least one character, or a list of them', `${where}.separator`)
    } else if (separator !== undefined && !target.list) {
      fault(`splits ${target.field}, which is not a list`, `${where}.separator`)
    }
    const before = single.get(target.field)
    if (before !== undefined && !target.list) {
      fault(`maps to ${target.field}, as ${quote(before)} does; only lists can have several columns`, where)
    }
    single.set(target.field, column)
    columns.set(column, { ...target, ...(isValid && { separator }) })
  }
  const constants = Object.entries(objectAt(given, 'constants', fault)).flatMap(([field, value]) => {
    const target = find(field, `constants.${field}`)
    return target === undefined ? [] : [{ path: target.path, value }]
  })
  const text = (key: string) => {
    const value = given[key]
    if (value !== undefined && (typeof value !== 'string' || value === '')) fault('must be text', key)
    return typeof value === 'string' && value !== '' ? { [key]: value } : {}
  }
  const noValue = [given.noValue ?? []].flat()
  if (!noValue.every((each) => typeof each === 'string' && each !== '')) {
    fault('must be a text or a list of texts, such as "NA"; write words like null in quotes', 'noValue')
  }
  if (![undefined, true, false].includes(given.quote as never)) fault('must be true or false', 'quote')
  const { headerRow } = given
  if (headerRow !== undefined && !(Number.isSafeInteger(headerRow) && Number(headerRow) >= 1)) {
    fault('must be the number of the row that names the columns, from 1', 'headerRow')
  }
  const settings = {
    ...text('separator'),
    ...text('sheet'),
    ...(headerRow !== undefined && { headerRow: Number(headerRow) }),
  }
  if (columns.size === 0 && faults.length === 0) fault('maps no column: "columns" must name at least one')
  if (faults.length > 0) throw new InputRefused(faults)
  return {
    file,
    columns,
    constants,
    noValue: new Set(noValue as string[]),
    unquoted: given.quote === false,
    complete: relateGroups,
    ...settings,
  }
}

function isSeparator(value: unknown): value is ListSeparator {
  const isText = (each: unknown) => typeof each === 'string' && each !== ''
  return isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText))
}

type Find = (field: unknown, where: string) => Omit<Target, 'separator'> | undefined

async function parseMapping(file: string): Promise<Record<string, unknown>> {
  const given = parseYaml(await readText(file), file)
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    refuse({ file, message: 'must be an object with "columns", which maps column names to fields' })
  }
  return given as Record<string, unknown>
}

function objectAt(
  given: Record<string, unknown>,
  key: string,
  fault: (message: string, field: string) => void,
): Record<string, unknown> {
  const value = given[key] ?? {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  fault('must be an object', key)
  return {}
}

/** The field with a name: text, a number, or a list of texts. */
function findTarget(schema: TSchema, name: string): Omit<Target, 'separator'> | undefined {
  const alias = ALIASES.find(([short]) => name.startsWith(short))
  const full = alias === undefined ? name : `${alias[1]}${name.slice(alias[0].length)}`
  const column = findFlatColumn(schema, full)
  if (column !== undefined) return { field: name, path: column.path, read: column.read, list: false }
  const item = findFlatColumn(schema, `${full}.1`)
  if (item === undefined) return undefined
  return { field: name, path: item.path.slice(0, -1), read: item.read, list: true }
}

/** The names that a mapping may use, for suggestions. */
export function listMappable(columns: readonly CsvColumn[]): string[] {
  const groups = ['code', 'nameEnglish', 'nameMaori', 'descriptionEnglish']
  return [
    ...columns.map(({ name }) => name),
    ...groups.map((name) => `minorGroup.${name}`),
    'minorGroup.tasks',
    ...groups.map((name) => `majorGroup.${name}`),
  ]
}

const GROUP: FieldPath = ['minorGroups', 0]
const ABOVE: FieldPath = [...GROUP, 'minorGroup', 'majorGroups', 0]

/** The group columns of a spreadsheet contain the Primary group, unless the mapping says otherwise. */
function relateGroups(value: Record<string, unknown>): void {
  for (const [path, name] of [
    [GROUP, 'minorGroupRelationType'],
    [ABOVE, 'majorGroupRelationType'],
  ] as const) {
    if (pick(value, path) !== undefined && pick(value, [...path, name]) === undefined) {
      put(value, [...path, name], 'Primary')
    }
  }
}
