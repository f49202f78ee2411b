import { UserError } from '../../foundation/faults/user-error.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { PLACEHOLDER } from './definition/check-info.ts'
import { type Check, type Definition, listChecks, type Resource } from './definition/definition.ts'
import { isOwnDefinition } from './definition/load.ts'
import { describeCheck, summariseMessage } from './engine/explain.ts'

/**
 * Finds a check by its code, or by the publisher's number.
 *
 * @throws {UserError} if no check has it
 */
export function findCode(definition: Definition, code: string): { resource: Resource; check: Check } {
  const all = [...listChecks(definition)]
  const found =
    all.find(({ check }) => check.code.toLowerCase() === code.toLowerCase()) ??
    all.find(({ check }) => check.replaces?.split(/[\s,]+/).includes(code))
  if (found !== undefined) return found
  const codes = all.map(({ check }) => check.code)
  const { name, folder } = definition
  const shown = isOwnDefinition(folder) ? name : folder
  throw new UserError(
    `The definition ${name} has no code ${code}${suggest(code, codes)}. mahi definitions show ${shown} lists its codes.`,
  )
}

/** Describes a check completely, as text or as one JSON object. */
export function explainCheck(definition: Definition, code: string, json: boolean): string {
  const { resource, check } = findCode(definition, code)
  const description = describeCheck(resource, check)
  if (json) return `${JSON.stringify({ ...description, notice: definition.notice })}\n`
  const { severity, message, fields, basis, since, until, status } = description
  const rows: [string, string | undefined][] = [
    ['File', `${resource.title} (${resource.path})`],
    ['Fields', fields.length === 0 ? undefined : fields.join(', ')],
    ['Why', description.why],
    ['Fix', description.fix],
    ['Official number', description.replaces],
    ['Source', description.source],
    ['Basis', basis === undefined ? undefined : BASIS[basis]],
    ['In force', describePeriod(since, until)],
    ['Explanation', description.needsExplanation ? 'needed before the return is submitted' : undefined],
    ['Status', status === 'active' ? undefined : status],
    ['Permitted', listPermitted(resource, check)],
  ]
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${`${name}:`.padEnd(17)}${value}`],
  )
  const notice = definition.notice === undefined ? [] : ['', definition.notice]
  // The template has the names of fields where a message has their values.
  const known = new Set(resource.fields.map((each) => each.name))
  const named = message.replace(PLACEHOLDER, (text, name: string) => (known.has(name) ? name : text))
  const summary = summariseMessage(named)
  return `${[`${check.code} (${severity}): ${summary}`, '', ...lines, ...notice].join('\n')}\n`
}

const BASIS = lookUp<string>({
  stated: 'the source states it',
  inferred: 'it follows from what the source states',
  own: "Mahi's own addition",
})

function describePeriod(since: string | undefined, until: string | undefined): string | undefined {
  if (since === undefined && until === undefined) return undefined
  return [since === undefined ? '' : `since ${since}`, until === undefined ? '' : `until ${until}`]
    .filter((text) => text !== '')
    .join(' ')
}

function listPermitted(resource: Resource, check: Check): string | undefined {
  const field = resource.fields.find(({ checks }) => checks[check.kind] === check)
  if (check.kind !== 'enum' && check.kind !== 'items') return undefined
  return field?.permitted
    ?.map(({ value, label }) => (label === undefined ? value : `${value} ${label}`))
    .join('; ')
}
