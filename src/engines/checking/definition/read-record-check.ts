import { CHECK_PROPERTIES, readCheck } from './check-info.ts'
import type { Field, Operand, ParameterName, RecordCheck } from './definition.ts'
import type { Node } from './node.ts'
import { readCondition } from './read-field.ts'

const OPERAND_PARAMETERS: readonly ParameterName[] = ['returnStart', 'returnEnd', 'returnYear', 'asOf']

const OWN_PROPERTIES: Record<RecordCheck['kind'], readonly string[]> = {
  order: ['fields', 'strict'],
  sum: ['total', 'parts', 'tolerance', 'compare'],
  spread: ['total', 'parts', 'from', 'to', 'decimals', 'months'],
  oneOf: ['fields', 'count'],
  equal: ['fields', 'not'],
  referenced: ['fields', 'by'],
}
const KINDS = Object.keys(OWN_PROPERTIES) as RecordCheck['kind'][]

/** Finds the positions of the fields that a node lists. */
export function readFieldPositions(node: Node, names: readonly string[]): number[] {
  return node.listOrOne().flatMap((item) => readFieldPosition(item, names) ?? [])
}

export function readFieldPosition(node: Node, names: readonly string[]): number | undefined {
  const name = node.requiredText()
  if (name === '') return undefined
  const position = names.indexOf(name)
  return position === -1 ? node.fault(`names ${name}, which is not a field of this file`) : position
}

/** The field types whose values can be compared with each other, by the name of what they have in common. */
export function familyOf({ type }: Field): string {
  return type === 'integer' || type === 'number' || type === 'year' ? 'number' : type
}

const FAMILIES: Readonly<Record<ParameterName, string>> = {
  returnStart: 'date',
  returnEnd: 'date',
  asOf: 'date',
  returnYear: 'number',
}

/** Reports operands that cannot be compared, such as a date and a number. */
function assertComparable(node: Node, operands: readonly Operand[], fields: readonly Field[]): void {
  const families = operands.map((operand) => {
    if ('parameter' in operand) return FAMILIES[operand.parameter]
    const field = fields[operand.field]
    return field === undefined ? '' : familyOf(field)
  })
  const [first = '', ...others] = families
  const other = others.find((each) => each !== first)
  if (other !== undefined) node.fault(`compares values of different types: ${first} and ${other}`)
}

function assertFamily(
  node: Node,
  positions: readonly number[],
  fields: readonly Field[],
  family: string,
): void {
  for (const position of positions) {
    const field = fields[position]
    if (field !== undefined && familyOf(field) !== family)
      node.fault(`names ${field.name}, which is of type ${field.type}, not a ${family}`)
  }
}

/**
 * Reads a check across the fields of a record.
 *
 * @param fieldsOf the names of the fields of another resource, if it exists
 */
export function readRecordCheck(
  node: Node,
  fields: readonly Field[],
  fieldsOf: (resource: string) => readonly string[] | undefined,
): RecordCheck | undefined {
  const names = fields.map(({ name }) => name)
  const kind = node.get('kind').requiredText() === '' ? undefined : node.get('kind').oneOf(KINDS)
  if (kind === undefined) return undefined
  node.knows(['kind', 'when', ...OWN_PROPERTIES[kind], ...CHECK_PROPERTIES], { strict: true })
  const code = node.get('code').requiredText()
  const listed =
    kind === 'sum' || kind === 'spread'
      ? [node.get('total'), ...node.get('parts').list()]
      : node.get('fields').list()
  const concerned = listed.flatMap((item) => {
    const text = item.text()
    return text === undefined || text.startsWith(':') ? [] : [text]
  })
  const check = readCheck(node, { code, kind, fields: concerned })
  const common = { check, when: readCondition(node.get('when'), names) }
  const needsTwo = kind === 'order' || kind === 'equal' || kind === 'oneOf'
  if (needsTwo && listed.length < 2) node.get('fields').fault('must have at least two fields')
  if (kind === 'equal' && listed.length > 2) node.get('fields').fault('must have exactly two operands')
  switch (kind) {
    case 'order':
    case 'equal': {
      const operands = readOperands(node, names)
      assertComparable(node.get('fields'), operands, fields)
      return kind === 'order'
        ? { ...common, kind, operands, strict: node.get('strict').flag() }
        : { ...common, kind, operands, not: node.get('not').flag() }
    }
    case 'oneOf':
      return {
        ...common,
        kind,
        fields: readFieldPositions(node.get('fields'), names),
        count: node.get('count').oneOf(['atLeast', 'exactly', 'atMost']) ?? 'atLeast',
      }
    case 'sum': {
      const total = readFieldPosition(node.get('total'), names) ?? 0
      const parts = readFieldPositions(node.get('parts'), names)
      assertFamily(node, [total, ...parts], fields, 'number')
      return {
        ...common,
        kind,
        total,
        parts,
        tolerance: readTolerance(node.get('tolerance')),
        compare: node.get('compare').oneOf(['=', '<=']) ?? '=',
      }
    }
    case 'spread': {
      const parts = readFieldPositions(node.get('parts'), names)
      if (listed.length !== 13) node.get('parts').fault('must have twelve fields, one for each month')
      const [total, from, to] = [node.get('total'), node.get('from'), node.get('to')].map(
        (each) => readFieldPosition(each, names) ?? 0,
      ) as [number, number, number]
      assertFamily(node, [total, ...parts], fields, 'number')
      assertFamily(node, [from, to], fields, 'date')
      return {
        ...common,
        kind,
        total,
        parts,
        from,
        to,
        decimals: readDecimals(node.get('decimals')),
        months: node.get('months').oneOf(['within', 'outside']) ?? 'within',
      }
    }
    case 'referenced':
      return {
        ...common,
        kind,
        fields: readFieldPositions(node.get('fields'), names),
        by: node
          .get('by')
          .list()
          .flatMap((item) => readReferrer(item, fieldsOf) ?? []),
      }
  }
}

function readDecimals(node: Node): number {
  const text = node.scalar() ?? '2'
  if (!/^[0-6]$/.test(text)) node.fault('must be a whole number from 0 to 6')
  return Number(text)
}

function readTolerance(node: Node): string {
  const text = node.scalar() ?? '0'
  if (!/^\d+(\.\d{1,6})?$/.test(text)) node.fault('must be a number from 0 with at most 6 decimal places')
  return text
}

function readOperands(node: Node, names: readonly string[]): Operand[] {
  return node
    .get('fields')
    .list()
    .flatMap((item): Operand[] => {
      const text = item.text()
      if (text?.startsWith(':')) {
        const parameter = OPERAND_PARAMETERS.find((name) => `:${name}` === text)
        if (parameter !== undefined) return [{ parameter }]
        item.fault(`must be a field or one of ${OPERAND_PARAMETERS.map((name) => `:${name}`).join(', ')}`)
        return []
      }
      const field = readFieldPosition(item, names)
      return field === undefined ? [] : [{ field }]
    })
}

function readReferrer(
  node: Node,
  fieldsOf: (resource: string) => readonly string[] | undefined,
): { resource: string; fields: number[] } | undefined {
  node.knows(['resource', 'fields'], { strict: true })
  const resource = node.get('resource').requiredText()
  const names = fieldsOf(resource)
  if (names === undefined) return node.get('resource').fault('is not the name of a resource')
  return { resource, fields: readFieldPositions(node.get('fields'), names) }
}
