import type { Check, Resource } from './definition/definition.ts'
import { kindOfCheck } from './engine/check-kinds.ts'

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
  const { code, severity, fields, kind, source, replaces, basis, since, until, status } = check
  const { describe, why, fix } = kindOfCheck(check, resource)
  const optional = {
    why: check.why ?? why,
    fix: check.fix ?? fix,
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
    message: check.message ?? describe(check, resource),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    status,
    ...(check.needsExplanation && { needsExplanation: true }),
  }
}

/** A message without the values of a record, as a heading for all its findings. */
export function summariseMessage(message: string): string {
  return message.replace(/"?\{[A-Za-z_]\w*\}"?(\.$)?/g, '…')
}
