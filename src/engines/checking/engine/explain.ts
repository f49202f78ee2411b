import type { Check, Resource } from '../definition/definition.ts'
import { kindOfCheck } from './check-kinds.ts'

type Explained = 'why' | 'fix' | 'source' | 'replaces' | 'basis' | 'since' | 'until'

/** A check for display and for the rule catalogue. */
export interface CheckDescription
  extends Pick<Check, 'code' | 'severity' | 'fields' | 'kind' | 'status'>,
    Readonly<Partial<Record<Explained, string>>> {
  readonly file: string
  readonly fileType: Resource['fileType']
  /** The message, with unresolved placeholders. */
  readonly message: string
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
