import { EID } from '../../api/access/principal.ts'
import { resolveParameters } from '../../engines/checking/index.ts'
import { parseYaml } from '../../engines/records/index.ts'
import { FaultList, refuse } from '../../foundation/faults/faults.ts'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { joinOr } from '../../foundation/text/join-or.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { readZoned, showEnd, showInstant } from '../../foundation/text/zoned-time.ts'
import { hidesText } from '../read-line.ts'
import type { Definitions } from '../rules/definitions.ts'
import { SUBMISSION_TYPES } from '../submission.ts'
import type { CollectedReturn } from './returns.ts'

const PROPERTIES = [
  'id',
  'name',
  'definition',
  'version',
  'type',
  'opens',
  'due',
  'closes',
  'organisations',
  'notes',
]

/** The longest name and the longest notes, in characters. */
const LONGEST = { name: 200, notes: 2000 }

interface Options {
  /** The name of the file, for faults. */
  readonly file: string
  readonly definitions: Definitions
  /** The time zone of dates without an offset. */
  readonly zone: string
}

/**
 * Reads the returns of a YAML or JSON file.
 *
 * @throws {InputRefused} with all faults
 */
export async function readReturns(
  text: string,
  { file, definitions, zone }: Options,
): Promise<CollectedReturn[]> {
  const given = await parseFile(text, file)
  const faults = new FaultList()
  const read = given.flatMap((each, at) => {
    const found: Fault[] = []
    const add = (field: string, message: string) =>
      found.push({ file, field: field === '' ? `returns[${at}]` : `returns[${at}].${field}`, message })
    const one = readReturn(each, { definitions, zone }, add)
    faults.add(found)
    return one === undefined || found.length > 0 ? [] : [{ at, one }]
  })
  for (const [index, { at, one }] of read.entries()) {
    const earlier = read.slice(0, index).find(({ one: { returnId } }) => returnId === one.returnId)
    if (earlier !== undefined)
      faults.add([
        {
          file,
          field: `returns[${at}].id`,
          message: `returns[${earlier.at}] is return ${quote(one.returnId)} too. A return has one window; list it once`,
        },
      ])
  }
  faults.throwIfFound()
  return read.map(({ one }) => one)
}

/**
 * Checks one return with the properties of such a file.
 *
 * @throws {InputRefused} with all faults
 */
export function checkReturn(given: object, options: Omit<Options, 'file'>): CollectedReturn {
  const faults = new FaultList()
  const read = readReturn(given, options, (field, message) => faults.add([{ field, message }]))
  faults.throwIfFound()
  return read ?? refuse({ message: 'is not a return' })
}

async function parseFile(text: string, file: string): Promise<unknown[]> {
  // Every scalar is a text: ids keep their zeros, and dates are not converted.
  const parsed = await parseYaml(text, file, { schema: 'failsafe' })
  const list = isObject(parsed) && Object.keys(parsed).join() === 'returns' ? parsed.returns : parsed
  if (Array.isArray(list) && list.length > 0) return list
  return refuse({ file, message: 'must have a list of returns under the key "returns"' })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readReturn(
  given: unknown,
  { definitions, zone }: Omit<Options, 'file'>,
  add: (field: string, message: string) => void,
): CollectedReturn | undefined {
  if (!isObject(given)) {
    add('', 'must be an object')
    return undefined
  }
  for (const name of Object.keys(given))
    if (!PROPERTIES.includes(name)) add(name, `is not a known property${suggest(name, PROPERTIES)}`)
  const text = (name: string, required: boolean): string | undefined => {
    const value = given[name]
    if (value === undefined || value === '') {
      if (required) add(name, 'is missing')
      return undefined
    }
    if (typeof value === 'string') return value.replaceAll('\r\n', '\n').trim()
    add(name, 'must be a text')
    return undefined
  }
  const moment = (name: string, end: boolean, required = true): number | undefined => {
    const value = text(name, required)
    if (value === undefined) return undefined
    const read = readZoned(value, zone, end)
    if (read === undefined)
      add(
        name,
        `must be a date, a time such as 2026-01-31 17:00 that exists in ${zone}, or a date-time with an offset, not ${quote(value)}`,
      )
    return read
  }
  const returnId = text('id', true)
  if (returnId !== undefined && !/^[!-~]{1,64}$/.test(returnId))
    add('id', 'must be at most 64 visible ASCII characters without spaces')
  const name = text('name', true)
  const notes = text('notes', false)
  for (const [field, value] of Object.entries({ name, notes })) {
    if (value === undefined) continue
    if (value.length > LONGEST[field as keyof typeof LONGEST])
      add(field, `must be at most ${LONGEST[field as keyof typeof LONGEST]} characters`)
    if (hidesText(value))
      add(field, 'must not contain control characters, or characters that change the direction of text')
  }
  const definition = readDefinition(
    text('definition', true),
    text('version', false),
    returnId,
    definitions,
    add,
  )
  const type = text('type', false) ?? 'Full'
  if (!SUBMISSION_TYPES.includes(type as CollectedReturn['type']))
    add('type', `must be ${joinOr(SUBMISSION_TYPES)}, not ${quote(type)}`)
  const opens = moment('opens', false)
  const closes = moment('closes', true)
  const due = moment('due', true, false) ?? closes
  if (opens !== undefined && closes !== undefined && closes <= opens)
    add('closes', `is not after opens, ${showInstant(opens, zone)}`)
  else if (due !== undefined && closes !== undefined && due > closes)
    add('due', `is after the return closes, ${showEnd(closes, zone)}`)
  else if (due !== undefined && opens !== undefined && due <= opens)
    add('due', `is not after opens, ${showInstant(opens, zone)}`)
  const eids = readOrganisations(given.organisations, add)
  if (returnId === undefined || name === undefined || definition === undefined) return undefined
  if (opens === undefined || due === undefined || closes === undefined) return undefined
  return {
    returnId,
    name,
    ...definition,
    type: type as CollectedReturn['type'],
    opens,
    due,
    closes,
    ...(eids !== undefined && { eids }),
    ...(notes !== undefined && { notes }),
    zone,
  }
}

function readDefinition(
  name: string | undefined,
  version: string | undefined,
  returnId: string | undefined,
  definitions: Definitions,
  add: (field: string, message: string) => void,
): { definition: string; version: string } | undefined {
  if (name === undefined) return undefined
  const definition = definitions.find(name)
  if (definition === undefined) {
    const known = joinOr(definitions.names)
    add(
      'definition',
      `is not a definition of this service: ${quote(name)}. The setting DEFINITIONS has ${known}`,
    )
    return undefined
  }
  if (version !== undefined && version !== definition.version)
    add(
      'version',
      `is ${quote(version)}, but the definition ${name} of this service has version ${definition.version}`,
    )
  try {
    if (returnId !== undefined) resolveParameters(definition, { returnId })
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    add('id', `is not valid: ${error.message}`)
  }
  return { definition: definition.name, version: definition.version }
}

function readOrganisations(
  given: unknown,
  add: (field: string, message: string) => void,
): string[] | undefined {
  if (given === undefined || given === 'all') return undefined
  if (!Array.isArray(given) || given.length === 0 || !given.every((each) => typeof each === 'string')) {
    add('organisations', 'must be "all" or a list of identifiers (EID)')
    return undefined
  }
  const eids = given as string[]
  const known = new Set<string>()
  for (const [at, eid] of eids.entries()) {
    if (!EID.test(eid))
      add(`organisations[${at}]`, 'must be 1 to 64 visible ASCII characters without a comma')
    else if (known.has(eid)) add(`organisations[${at}]`, `repeats ${quote(eid)}`)
    known.add(eid)
  }
  return [...eids].sort()
}
