import { lookUp } from '../../../foundation/look-up.ts'
import type { Check, Resource } from '../definition/definition.ts'
import { FIELD_KINDS } from '../definition/field-kinds.ts'

/** All that is said of a kind of check that is not of one field. */
interface CheckKind {
  /** All its findings in one sentence. */
  readonly describe: (check: Check, resource: Resource) => string
  /** What is said of a record before its values, if it is not the same for all. */
  readonly blame?: (check: Check, resource: Resource) => string
  /** Why it matters, and how to fix it, unless the definition says so. */
  readonly why?: string
  readonly fix?: string
}

const listFields = ({ fields }: Check) => fields.join(', ')

function targetOf(check: Check, { foreignKeys }: Resource): string {
  return foreignKeys.find((each) => each.check === check)?.resource ?? 'the other file'
}

/** By the name of the kind without its number. */
const CHECK_KINDS = lookUp<CheckKind>({
  file: {
    describe: (_, { path }) => `The file ${path} is missing, cannot be read, or is not in the expected form.`,
    why: 'Without the file, its records and the rules that need them are not checked.',
    fix: 'Add the file, or export it again as CSV in UTF-8.',
  },
  header: {
    describe: (_, { path }) => `The header of ${path} has a missing, unknown or repeated column.`,
    why: 'The values of a column without its expected name are not checked.',
    fix: 'Give each column the name that the definition states, and delete the others.',
  },
  record: {
    describe: () => 'The record cannot be read.',
    why: 'The values of the record cannot be assigned to columns, so they are not checked.',
    fix: 'Correct the record in the file, or export it again.',
  },
  key: {
    describe: (check) => `An earlier record has the same ${listFields(check)}.`,
    blame: () => 'An earlier record has the same key: ',
    fix: 'Keep one record for each key.',
  },
  reference: {
    describe: (check, resource) =>
      `${listFields(check)} ${check.fields.length === 1 ? 'refers' : 'refer'} to no record of ${targetOf(check, resource)}.`,
    blame: (check, resource) => `No record of ${targetOf(check, resource)} has `,
  },
  match: { describe: ({ fields: [name] }) => `${name} differs from the referenced record.` },
  order: {
    describe: (check) => `${listFields(check)} must be in ascending order.`,
    blame: () => 'The values are not in ascending order: ',
  },
  sum: {
    describe: ({ fields: [name] }) => `${name} must agree with the sum of its parts.`,
    blame: () => 'The values do not add up: ',
  },
  spread: {
    describe: ({ fields: [name] }) => `${name} must be spread evenly over the months of its period.`,
  },
  oneOf: { describe: (check) => `Values are required or excluded among ${listFields(check)}.` },
  equal: { describe: (check) => `${listFields(check)} do not agree.` },
  referenced: { describe: (check) => `No other record refers to this ${listFields(check)}.` },
})

/** What is said of the kind of a check. */
export function kindOfCheck(check: Check, resource: Resource): CheckKind {
  const { kind, fields } = check
  const own = CHECK_KINDS[kind.split(/\d/, 1)[0] ?? '']
  if (own !== undefined) return own
  const [name = ''] = fields
  const field = resource.fields.find((each) => each.name === name)
  const { expect, why, fix } = FIELD_KINDS[kind] ?? {}
  const describe = () =>
    field === undefined || expect === undefined ? `${name} is not valid.` : `${name} ${expect(field)}.`
  return { describe, ...(why !== undefined && { why }), ...(fix !== undefined && { fix }) }
}
