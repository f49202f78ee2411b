import { type Check, SEVERITIES, type Severity } from './definition.ts'
import type { Node } from './node.ts'

/** The properties that describe a check, wherever a definition contains one. */
export const CHECK_PROPERTIES = [
  'code',
  'severity',
  'message',
  'many',
  'why',
  'fix',
  'source',
  'replaces',
  'basis',
  'since',
  'until',
  'status',
  'needsExplanation',
]

/** Reads the properties of a check; absent ones keep their defaults. */
export function readCheck(
  node: Node,
  own: { code: string; kind: string; fields: readonly string[]; severity?: Severity },
): Check {
  const { code, kind, fields } = own
  const given = node.get('code').text()
  if (given !== undefined && !/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(given)) {
    node.get('code').fault('must be 1 to 64 letters, digits and hyphens')
  }
  const since = node.get('since').date()
  const until = node.get('until').date()
  if (since !== undefined && until !== undefined && since > until)
    node.get('until').fault(`is before since (${since}), so that the check would never apply`)
  const severity = node.get('severity').oneOf(SEVERITIES) ?? own.severity ?? 'Error'
  const needsExplanation = node.get('needsExplanation').flag()
  if (needsExplanation && severity === 'Error')
    node.get('needsExplanation').fault('is for warnings: errors must be fixed')
  return {
    code: given ?? code,
    kind,
    fields,
    severity,
    message: node.get('message').text(),
    many: node.get('many').text(),
    why: node.get('why').text(),
    fix: node.get('fix').text(),
    source: node.get('source').text(),
    replaces: node.get('replaces').text(),
    basis: node.get('basis').oneOf(['stated', 'inferred', 'own']),
    since,
    until,
    status: node.get('status').oneOf(['active', 'draft', 'retired']) ?? 'active',
    needsExplanation,
  }
}

/** A name in braces; `{4}` is part of a regular expression. */
export const PLACEHOLDER = /\{([A-Za-z_]\w*)\}/g

/** The fields that a message template names, such as `{courseCode}`. */
export function listPlaceholders(message: string): string[] {
  return [...message.matchAll(PLACEHOLDER)].map((match) => match[1] ?? '')
}

export const PARAMETERS = [
  'returnId',
  'returnYear',
  'returnMonth',
  'returnStart',
  'returnEnd',
  'asOf',
] as const
