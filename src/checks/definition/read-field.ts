import { CHECK_PROPERTIES, readCheck } from './check-info.ts'
import type { Check, Condition, Field, FieldTest, FieldType, Limits, PermittedValue } from './definition.ts'
import type { Node } from './node.ts'

const TYPES: readonly FieldType[] = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'time',
  'year',
  'yearmonth',
  'list',
  'any',
]

const PROPERTIES = [
  'mahi:codelist',
  'mahi:items',
  'mahi:decimals',
  'mahi:requiredWhen',
  'mahi:emptyWhen',
  'mahi:spaces',
  'mahi:column',
  'mahi:checks',
]

const CONSTRAINTS = [
  'required',
  'unique',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'pattern',
  'enum',
]

/** The kinds of field checks, in the order of findings. */
export const FIELD_KINDS = [
  'required',
  'empty',
  'spaces',
  'type',
  'length',
  'pattern',
  'range',
  'decimals',
  'enum',
  'items',
  'unique',
] as const
export type FieldKind = (typeof FIELD_KINDS)[number]

/** The context that the fields of a schema share. */
export interface FieldContext {
  readonly prefix: string
  readonly names: readonly string[]
  readonly missingValues: readonly string[]
  readonly readCodelist: (name: string, node: Node) => readonly PermittedValue[]
}

/** Reads a field of a schema with its derived checks. */
export function readField(node: Node, position: number, context: FieldContext): Field {
  node.knows(PROPERTIES)
  const name = node.get('name').requiredText()
  if (name !== '' && !/^[A-Za-z_]\w*$/.test(name)) {
    node.get('name').fault('must consist of letters, digits and _, and not start with a digit')
  }
  if (name === 'row') node.get('name').fault('must not be row, which is the number of a record in SQL')
  const type = node.get('type').oneOf(TYPES) ?? 'string'
  const constraints = node.get('constraints')
  constraints.object()?.knows(CONSTRAINTS, { strict: true })
  const itemNode = node.get('mahi:items')
  itemNode.object()?.knows(['minLength', 'maxLength', 'pattern', 'enum', 'unique'], { strict: true })
  const permitted = readPermitted(node, type, context)
  const field = {
    name,
    title: node.get('title').text() ?? name,
    description: node.get('description').text(),
    type,
    format: readFormat(node, type),
    delimiter: node.get('delimiter').text() ?? ',',
    itemType: node.get('itemType').oneOf(['string', 'integer']) ?? 'string',
    trueValues: node.get('trueValues').present
      ? node.get('trueValues').texts()
      : ['true', 'TRUE', 'True', '1'],
    falseValues: node.get('falseValues').present
      ? node.get('falseValues').texts()
      : ['false', 'FALSE', 'False', '0'],
    missingValues: node.get('missingValues').present
      ? node.get('missingValues').texts()
      : context.missingValues,
    keepSpaces: node.get('mahi:spaces').oneOf(['keep']) === 'keep',
    mayBeAbsent: node.get('mahi:column').oneOf(['optional']) === 'optional',
    required: constraints.get('required').flag(),
    requiredWhen: readCondition(node.get('mahi:requiredWhen'), context.names),
    emptyWhen: readCondition(node.get('mahi:emptyWhen'), context.names),
    limits: readLimits(constraints, type),
    decimals: node.get('mahi:decimals').whole(),
    permitted,
    items: {
      ...readLimits(itemNode, 'string'),
      unique: itemNode.get('unique').flag(),
    },
  } satisfies Omit<Field, 'checks'>
  if (type !== 'list' && itemNode.present) itemNode.fault('applies to a list only')
  if (type !== 'number' && field.decimals !== undefined)
    node.get('mahi:decimals').fault('applies to a number only')
  const kinds = listKinds(field, constraints.get('unique').flag(), itemNode.present)
  return { ...field, checks: readFieldChecks(node, kinds, position, name, context) }
}

function readFieldChecks(
  node: Node,
  kinds: readonly FieldKind[],
  position: number,
  name: string,
  { prefix }: FieldContext,
): Record<string, Check> {
  const overrides = node.get('mahi:checks')
  overrides.object()?.knows(kinds, { strict: true })
  const place = String(position + 1).padStart(2, '0')
  return Object.fromEntries(
    kinds.map((kind) => {
      const override = overrides.get(kind)
      override.object()?.knows(CHECK_PROPERTIES, { strict: true })
      return [kind, readCheck(override, { code: `${prefix}-${place}-${kind}`, kind, fields: [name] })]
    }),
  )
}

function listKinds(field: Omit<Field, 'checks'>, unique: boolean, hasItems: boolean): FieldKind[] {
  const { limits, type } = field
  const isList = type === 'list'
  const applies: Record<FieldKind, boolean> = {
    required: field.required || field.requiredWhen !== undefined,
    empty: field.emptyWhen !== undefined,
    spaces: !field.keepSpaces,
    type: type !== 'string' && type !== 'any' && !(isList && field.itemType === 'string'),
    length: limits.minLength !== undefined || limits.maxLength !== undefined,
    pattern: limits.pattern !== undefined,
    range: [limits.minimum, limits.maximum, limits.exclusiveMinimum, limits.exclusiveMaximum].some(
      (limit) => limit !== undefined,
    ),
    decimals: field.decimals !== undefined,
    enum: field.permitted !== undefined && !isList,
    items: isList && (hasItems || field.permitted !== undefined),
    unique,
  }
  return FIELD_KINDS.filter((kind) => applies[kind])
}

function readFormat(node: Node, type: FieldType): string {
  const format = node.get('format').text() ?? 'default'
  if (format === 'default' || (type === 'any' && format === 'any')) return 'default'
  if (type === 'date') {
    const parts = format.match(/%./g) ?? []
    if ([...parts].sort().join() === '%Y,%d,%m') return format
    node.get('format').fault('must be default, or contain each of %Y, %m and %d once')
  } else {
    node.get('format').fault(`is not supported for a field of type ${type}; leave it out`)
  }
  return 'default'
}

function readLimits(node: Node, type: FieldType): Limits {
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const
  const ordered = ['integer', 'number', 'date', 'year', 'yearmonth', 'datetime', 'time'].includes(type)
  const limits: Record<string, string | number> = {}
  for (const name of ['minLength', 'maxLength'] as const) {
    const length = node.get(name).whole()
    if (length !== undefined) limits[name] = length
  }
  for (const name of bounds) {
    const bound = node.get(name).scalar()
    if (bound === undefined) continue
    if (!ordered) node.get(name).fault(`does not apply to a field of type ${type}`)
    else if (['integer', 'number', 'year'].includes(type) && !Number.isFinite(Number(bound)))
      node.get(name).fault('must be a number')
    limits[name] = bound
  }
  const pattern = node.get('pattern').pattern()
  return { ...limits, ...(pattern === undefined ? {} : { pattern }) }
}

function readPermitted(
  node: Node,
  type: FieldType,
  { readCodelist }: FieldContext,
): readonly PermittedValue[] | undefined {
  const sources: (readonly PermittedValue[])[] = []
  const plain = (item: Node): PermittedValue[] => {
    const value = item.scalar()
    return value === undefined ? [] : [{ value, label: undefined, from: undefined, until: undefined }]
  }
  const categories = node.get('categories')
  if (categories.present) {
    sources.push(
      categories.list().flatMap((item) => {
        if (typeof item.value !== 'object' || item.value === null) return plain(item)
        const label = item.get('label').text()
        return plain(item.get('value')).map((permitted) => ({ ...permitted, label }))
      }),
    )
  }
  const enums = node.get('constraints').get('enum')
  if (enums.present) sources.push(enums.list().flatMap(plain))
  const itemEnums = node.get('mahi:items').get('enum')
  if (itemEnums.present) sources.push(itemEnums.list().flatMap(plain))
  const codelist = node.get('mahi:codelist')
  const name = codelist.text()
  if (name !== undefined) sources.push(readCodelist(name, codelist))
  if (sources.length > 1) node.fault('has more than one of categories, enum and mahi:codelist; keep one')
  if (sources.length > 0 && type === 'list' && enums.present)
    enums.fault('does not apply to a list; use mahi:items')
  return sources[0]
}

/** Reads a condition on the fields of a record. */
export function readCondition(node: Node, names: readonly string[]): Condition | undefined {
  if (!node.present) return undefined
  return node.listOrOne().map((alternative) => {
    if (alternative.object() === undefined) return []
    return alternative.names().flatMap((name): FieldTest[] => {
      const test = alternative.get(name)
      const field = names.indexOf(name)
      if (field === -1) {
        test.fault('is not a field of this file')
        return []
      }
      if (typeof test.value === 'string') {
        const is = test.oneOf(['present', 'absent'])
        return is === undefined ? [] : [{ field, is }]
      }
      return [{ field, is: test.list().flatMap((item) => item.scalar() ?? []) }]
    })
  })
}
