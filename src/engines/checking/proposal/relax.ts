import type { CodeSummary } from '../engine/summary.ts'
import type { ProposedResource } from './describe-files.ts'

/**
 * Removes from a proposal what a check of it found: what the columns seemed to be, but are not for the check.
 *
 * @returns whether anything was removed
 */
export function relax(resources: readonly ProposedResource[], codes: readonly CodeSummary[]): boolean {
  const removed = codes.filter((code) => relaxOne(resources, code))
  dropReferences(resources)
  return removed.length > 0
}

/** A reference needs a field of the same type, whose values do not repeat. */
function dropReferences(resources: readonly ProposedResource[]): void {
  for (const { schema } of resources) {
    const kept = schema.foreignKeys?.filter(({ fields, reference }) => {
      const target = resources.find(({ name }) => name === reference.resource)?.schema
      const field = target?.fields.find(({ name }) => name === reference.fields)
      const isKey = target?.primaryKey === reference.fields || field?.constraints?.unique === true
      return isKey && field?.type === schema.fields.find(({ name }) => name === fields)?.type
    })
    schema.foreignKeys = kept === undefined || kept.length === 0 ? undefined : kept
  }
}

function relaxOne(resources: readonly ProposedResource[], { file, fields, kind }: CodeSummary): boolean {
  const schema = resources.find(({ name }) => name === file)?.schema
  if (schema === undefined) return false
  const [name] = fields
  const key = [schema.primaryKey ?? []].flat()
  if (name !== undefined && key.includes(name) && ['key', 'required'].includes(kind)) {
    schema.primaryKey = undefined
    return true
  }
  if (kind.startsWith('reference')) {
    const kept = schema.foreignKeys?.filter((each) => each.fields !== name) ?? []
    const removes = kept.length < (schema.foreignKeys?.length ?? 0)
    schema.foreignKeys = kept.length > 0 ? kept : undefined
    return removes
  }
  const field = schema.fields.find((each) => each.name === name)
  if (field === undefined) return false
  if (kind === 'required' || kind === 'unique' || kind === 'enum') {
    const { [kind]: removed, ...rest } = field.constraints ?? {}
    field.constraints = Object.keys(rest).length > 0 ? rest : undefined
    return removed !== undefined
  }
  if (kind === 'spaces') {
    const isNew = field['mahi:spaces'] === undefined
    field['mahi:spaces'] = 'keep'
    return isNew
  }
  if (kind !== 'type' || field.type === 'string') return false
  field.type = 'string'
  field.format = undefined
  field.decimalChar = undefined
  return true
}
