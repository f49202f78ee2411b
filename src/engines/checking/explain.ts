import { lookUp } from '../../foundation/look-up.ts'
import type { Check, Resource } from './definition/definition.ts'
import { FIELD_KINDS } from './engine/field-kinds.ts'

/** A check for display and for the rule catalogue. */
export interface CheckDescription {
  readonly code: string
  readonly severity: Check['severity']
  readonly file: string
  readonly fileType: Resource['fileType']
  readonly fields: readonly string[]
  readonly kind: string
  /** The message, with unresolved placeholders. */
  readonly message: string
  readonly why?: string
  readonly fix?: string
  readonly source?: string
  readonly replaces?: string
  readonly basis?: string
  readonly since?: string
  readonly until?: string
  readonly status: Check['status']
  readonly needsExplanation?: true
}

/** Describes a check. */
export function describeCheck(resource: Resource, check: Check): CheckDescription {
  const { code, severity, fields, kind, why, fix, source, replaces, basis, since, until, status } = check
  const optional = {
    why: why ?? FIELD_KINDS[kind]?.why ?? DEFAULT_WHY[kind],
    fix: fix ?? FIELD_KINDS[kind]?.fix ?? DEFAULT_FIX[kind],
    source,
    replaces,
    basis,
    since,
    until,
  }
  return {
    code,
    severity,
    file: resource.name,
    fileType: resource.fileType,
    fields,
    kind,
    message: check.message ?? describeKind(resource, check),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    status,
    ...(check.needsExplanation && { needsExplanation: true }),
  }
}

/** A message without the values of a record, as a heading for all its findings. */
export function summariseMessage(message: string): string {
  return message.replace(/"?\{[A-Za-z_]\w*\}"?(\.$)?/g, '…')
}

/** Why a derived check matters, unless the definition says so itself. */
const DEFAULT_WHY = lookUp<string>({
  file: 'Without the file, its records and the rules that need them are not checked.',
  header: 'The values of a column without its expected name are not checked.',
  record: 'The values of the record cannot be assigned to columns, so they are not checked.',
})

/** How to fix the findings of a derived check, unless the definition says so itself. */
const DEFAULT_FIX = lookUp<string>({
  file: 'Add the file, or export it again as CSV in UTF-8.',
  header: 'Give each column the name that the definition states, and delete the others.',
  record: 'Correct the record in the file, or export it again.',
  key: 'Keep one record for each key.',
})

/** Describes the findings of a derived check in one sentence. */
export function describeKind(resource: Resource, check: Check): string {
  const { kind, fields } = check
  const [name = ''] = fields
  const field = resource.fields.find((each) => each.name === name)
  const listed = fields.join(', ')
  if (kind === 'file')
    return `The file ${resource.path} is missing, cannot be read, or is not in the expected form.`
  if (kind === 'header') return `The header of ${resource.path} has a missing, unknown or repeated column.`
  if (kind === 'record') return 'The record cannot be read.'
  if (kind.startsWith('key')) return `An earlier record has the same ${listed}.`
  if (kind.startsWith('reference')) {
    const key = resource.foreignKeys.find((each) => each.check === check)
    const verb = fields.length === 1 ? 'refers' : 'refer'
    return `${listed} ${verb} to no record of ${key?.resource ?? 'the other file'}.`
  }
  if (kind.startsWith('match')) return `${name} differs from the referenced record.`
  if (kind === 'order') return `${listed} must be in ascending order.`
  if (kind === 'sum') return `${name} must agree with the sum of its parts.`
  if (kind === 'spread') return `${name} must be spread evenly over the months of its period.`
  if (kind === 'oneOf') return `Values are required or excluded among ${listed}.`
  if (kind === 'equal') return `${listed} do not agree.`
  if (kind === 'referenced') return `No other record refers to this ${listed}.`
  const { expect } = FIELD_KINDS[kind] ?? {}
  return field === undefined || expect === undefined ? `${name} is not valid.` : `${name} ${expect(field)}.`
}
