import { EID } from '../../api/access/principal.ts'
import { oneOf, text } from '../../api/contract/fields.ts'
import type { ValueFault } from '../../api/request/problems.ts'
import { resolveParameters } from '../../engines/checking/index.ts'
import { parseYaml } from '../../engines/records/index.ts'
import { FaultList, refuse } from '../../foundation/faults/faults.ts'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { compileSchema, soundMembers } from '../../foundation/schema/compile.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { joinOr } from '../../foundation/text/join-or.ts'
import { quote } from '../../foundation/text/quote.ts'
import { readZoned, showEnd, showInstant } from '../../foundation/text/zoned-time.ts'
import type { Definitions } from '../rules/definitions.ts'
import { findHidden } from '../submission/read-line.ts'
import { RETURN_ID, SUBMISSION_TYPES } from '../submission/submission.ts'
import type { CollectedReturn } from './returns.ts'

const date = (what: string) =>
  `${what} A date, a local time such as \`2026-01-31 17:00\` in the time zone of the service, or a date-time with an offset.`

/** A return as `putReturn` gets it, and a file, which also has its id. */
export const NewReturn = Type.Object(
  {
    name: Type.String({ description: 'Its name for people.', maxLength: 200 }),
    definition: Type.String({ description: 'The definition that it is checked against.' }),
    version: text('The version of the definition that the service must have.'),
    type: oneOf(
      SUBMISSION_TYPES,
      'Full (default): all required files must be present. Indicative: some may be missing.',
    ),
    opens: Type.String({ description: date('When it opens.') }),
    due: text(date('When it is due; by default when it closes.')),
    closes: Type.String({ description: date('When it closes.') }),
    organisations: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The organisations that are expected to submit it; all if it is absent.',
        minItems: 1,
      }),
    ),
    notes: text('Notes for those who submit it.', { maxLength: 2000 }),
  },
  { description: 'A return to collect.' },
)

const readShape = compileSchema(Type.Object({ id: Type.String(), ...NewReturn.properties }), {
  keepItems: true,
})

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

/** The members of a return that have the right form; its id too. */
export type ReturnValues = Partial<Static<typeof NewReturn>> & { readonly id?: string | undefined }

/** Checks the values of a return, and reads it, if they are complete. */
export function checkReturn(given: ReturnValues, options: Omit<Options, 'file'>) {
  const faults: ValueFault[] = []
  const described = readValues(given, options, (name, message) => faults.push({ name, message }))
  return { faults, described }
}

async function parseFile(text: string, file: string): Promise<unknown[]> {
  // Every scalar is a text: ids keep their zeros, and dates are not converted.
  const parsed = parseYaml(text, file, { schema: 'failsafe' })
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
  const { organisations, ...others } = isObject(given) ? given : {}
  const shape = readShape(organisations === 'all' ? others : given)
  for (const { field, message } of shape.faults) add(field, message)
  return readValues(soundMembers<ReturnValues>(shape), { definitions, zone }, add)
}

function readValues(
  read: ReturnValues,
  { definitions, zone }: Omit<Options, 'file'>,
  add: (field: string, message: string) => void,
): CollectedReturn | undefined {
  const moment = (name: 'opens' | 'due' | 'closes', end: boolean): number | undefined => {
    const value = read[name]
    const time = value === undefined ? undefined : readZoned(value, zone, end)
    if (value !== undefined && time === undefined)
      add(
        name,
        `must be a date, a time such as 2026-01-31 17:00 that exists in ${zone}, or a date-time with an offset, not ${quote(value)}`,
      )
    return time
  }
  const { id: returnId, type = 'Full' } = read
  if (returnId !== undefined && !RETURN_ID.pattern.test(returnId)) add('id', `must be ${RETURN_ID.rule}`)
  const [name, notes] = [read.name, read.notes].map((text) => text?.replaceAll('\r\n', '\n'))
  for (const [field, value] of Object.entries({ name, notes })) {
    const fault = findHidden(value)
    if (fault !== undefined) add(field, fault)
  }
  const definition = readDefinition(read.definition, read.version, returnId, definitions, add)
  const opens = moment('opens', false)
  const closes = moment('closes', true)
  const due = moment('due', true) ?? closes
  if (opens !== undefined && closes !== undefined && closes <= opens)
    add('closes', `is not after opens, ${showInstant(opens, zone)}`)
  else if (due !== undefined && closes !== undefined && due > closes)
    add('due', `is after the return closes, ${showEnd(closes, zone)}`)
  else if (due !== undefined && opens !== undefined && due <= opens)
    add('due', `is not after opens, ${showInstant(opens, zone)}`)
  const eids = read.organisations && readOrganisations(read.organisations, add)
  if (returnId === undefined || name === undefined || definition === undefined) return undefined
  if (opens === undefined || due === undefined || closes === undefined) return undefined
  return {
    returnId,
    name,
    ...definition,
    type,
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
  eids: readonly string[],
  add: (field: string, message: string) => void,
): readonly string[] {
  const known = new Set<string>()
  for (const [at, eid] of eids.entries()) {
    if (!EID.test(eid))
      add(`organisations[${at}]`, 'must be 1 to 64 visible ASCII characters without a comma')
    else if (known.has(eid)) add(`organisations[${at}]`, `repeats ${quote(eid)}`)
    known.add(eid)
  }
  return [...eids].sort()
}
