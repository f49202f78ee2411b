import type { Check, Definition, Resource } from '../definition/definition.ts'
import { listConditionFields, listFields } from './record-checks.ts'
import { listUses, type Use } from './sql-uses.ts'

/** The files and fields that each check reads, besides those of files, headers and whole records; its own file first. */
export type CheckUses = ReadonlyMap<Check, readonly Use[]>

export function listCheckUses(definition: Definition): CheckUses {
  const { resources } = definition
  const uses = new Map<Check, readonly Use[]>()
  const useOf = (name: string, fields: readonly number[]): Use[] =>
    resources.flatMap((resource) => (resource.name === name ? [{ resource, fields }] : []))
  for (const resource of resources) {
    const { fields, keys, foreignKeys, recordChecks, rules } = resource
    for (const [index, { checks, requiredWhen, emptyWhen }] of fields.entries()) {
      const conditions = [...listConditionFields(requiredWhen), ...listConditionFields(emptyWhen)]
      for (const check of Object.values(checks)) {
        const isConditional = check.kind === 'required' || check.kind === 'empty'
        uses.set(check, [{ resource, fields: [index, ...(isConditional ? conditions : [])] }])
      }
    }
    for (const { fields, check } of keys) uses.set(check, [{ resource, fields }])
    for (const { fields, resource: name, references, check, matches } of foreignKeys) {
      const both = [{ resource, fields }, ...useOf(name, references)]
      uses.set(check, both)
      for (const { field, reference, check } of matches)
        uses.set(check, [...both, { resource, fields: [field] }, ...useOf(name, [reference])])
    }
    for (const each of recordChecks) {
      const others = each.kind === 'referenced' ? each.by : []
      const related = others.flatMap((by) => useOf(by.resource, by.fields))
      uses.set(each.check, [{ resource, fields: listFields(each) }, ...related])
    }
    for (const rule of rules) uses.set(rule.check, listUses(definition, rule))
  }
  return uses
}

/** The fields of one file that a check reads. */
export function fieldsOf(uses: readonly Use[] = [], resource: Resource): number[] {
  return uses.flatMap((use) => (use.resource === resource ? use.fields : []))
}
