import { lookUp } from '../../../foundation/look-up.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { CHECK_PROPERTIES, listPlaceholders, PARAMETERS, readCheck } from './check-info.ts'
import {
  type Check,
  FILE_TYPES,
  type ForeignKey,
  type Key,
  type PermittedValue,
  type RecordCheck,
  type Resource,
  type SqlRule,
} from './definition.ts'
import type { Node } from './node.ts'
import { compilePattern } from './pattern.ts'
import { assertPath } from './profile.ts'
import { readDialect } from './read-dialect.ts'
import { readEncoding } from './read-encoding.ts'
import { readField, readMissingValues } from './read-field.ts'
import { readFieldPosition, readFieldPositions, readRecordCheck } from './read-record-check.ts'

const PROPERTIES = [
  'mahi:code',
  'mahi:fileType',
  'mahi:record',
  'mahi:fileNames',
  'mahi:optional',
  'mahi:checks',
]

/** The names that a resource has outside of its descriptor, unique in the definition. */
export interface ResourceNames {
  /** In SQL. */
  readonly table: string
  /** The start of its codes. */
  readonly prefix: string
}

/** The parts of a definition that a resource needs. */
export interface ResourceContext {
  readonly names: ResourceNames
  readonly fieldsOf: (resource: string) => readonly string[] | undefined
  readonly readCodelist: (name: string, node: Node) => readonly PermittedValue[]
  readonly rulesOf: (resource: string) => readonly SqlRule[]
  /** Whether a resource is in the descriptor, and cannot be checked. */
  readonly isUnchecked: (resource: string) => boolean
}

/** The field names in a resource's schema, before the rest of the resource is read. */
export function listFieldNames(resource: Node): string[] {
  return resource
    .get('schema')
    .get('fields')
    .list()
    .map((field) => (typeof field.get('name').value === 'string' ? String(field.get('name').value) : ''))
}

/** Reads a resource: a file, its fields and its checks. */
export function readResource(node: Node, context: ResourceContext): Resource {
  const counted = typeof node.get('fields').value === 'number' ? ['fields'] : []
  node.knows([...PROPERTIES, ...counted], { object: 'resource' })
  if (node.get('checklist').present) node.get('checklist').note('is not run')
  if (node.get('jsonSchema').present) node.get('jsonSchema').note('is not checked')
  const name = node.get('name').requiredText()
  const { prefix, table } = context.names
  const code = node.get('mahi:code').text()
  if (code !== undefined && !/^[A-Z0-9]{2,6}$/.test(code))
    node.get('mahi:code').fault('must be 2 to 6 capital letters or digits')
  const schema = node.get('schema')
  if (!schema.present) schema.fault('is missing')
  schema.object()?.knows(['mahi:recordChecks'], { object: 'schema' })
  noteCustomChecks(schema.get('custom_checks'))
  const names = listFieldNames(node)
  for (const [index, each] of names.entries()) {
    if (each !== '' && names.indexOf(each) !== index) schema.get('fields').fault(`has ${each} twice`)
  }
  const columns = nameColumns(names)
  const dialect = readDialect(node.get('dialect'), node.get('layout'))
  const missingValues = readMissingValues(schema.get('missingValues')) ?? ['']
  const keyed = schema
    .get('primaryKey')
    .listOrOne()
    .flatMap((key) => (typeof key.value === 'string' ? key.value : []))
  const fields = schema
    .get('fields')
    .list()
    .map((field, position) => {
      field.object()
      return readField(field, position, {
        prefix,
        names,
        columns,
        missingValues,
        nullSequence: node.get('dialect').get('nullSequence').text(),
        keyed,
        readCodelist: context.readCodelist,
      })
    })
  if (fields.length === 0 && schema.present) schema.get('fields').fault('is missing')

  const overrides = node.get('mahi:checks')
  const derive = (kind: string, place: Node, concerned: readonly string[] = []): Check => {
    place.object()?.knows([...CHECK_PROPERTIES, 'field', 'reference'], { strict: true })
    return readCheck(place, { code: `${prefix}-00-${kind}`, kind, fields: concerned })
  }
  const fileCheck = derive('file', overrides.get('file'))
  const headerCheck = derive('header', overrides.get('header'))
  const recordCheck = derive('record', overrides.get('record'))
  const hasPrimaryKey = schema.get('primaryKey').present
  const keys = readKeys(schema, names, (kind, concerned) => derive(kind, overrides.get(kind), concerned))
  overrides.object()?.knows(['file', 'header', 'record', ...keys.map(({ check }) => check.kind)], {
    strict: true,
  })
  const foreignKeys = readForeignKeys(schema, names, context, name, derive)
  const recordChecks = schema
    .get('mahi:recordChecks')
    .list()
    .flatMap((item): RecordCheck[] => {
      const check = readRecordCheck(item, fields, context.fieldsOf)
      return check === undefined ? [] : [check]
    })
  const match = node.get('schema').get('fieldsMatch')
  const fieldsMatch = match.listOrOne()[0]?.oneOf(['exact', 'equal', 'subset', 'superset', 'partial'])
  const [path] = node.get('path').listOrOne()
  const rules = context.rulesOf(name)
  // Its column may be absent, in which case the line number replaces it.
  const localId = node.get('mahi:record').get('localId').value
  const derived = [
    ...fields.flatMap((field) => Object.values(field.checks)),
    ...keys.map(({ check }) => check),
    ...foreignKeys.flatMap(({ check, matches }) => [check, ...matches.map((each) => each.check)]),
  ]
  assertPlaceholders(node, names, recordChecks, derived)
  const checks = [
    fileCheck,
    headerCheck,
    recordCheck,
    ...derived,
    ...recordChecks.map(({ check }) => check),
    ...rules.map(({ check }) => check),
  ]
  return {
    name,
    table,
    path: (path === undefined ? undefined : assertPath(path)) ?? '',
    title: node.get('title').description() ?? name,
    prefix,
    fileType: node.get('mahi:fileType').oneOf(FILE_TYPES) ?? 'Unknown',
    record: readRecordFields(node.get('mahi:record'), names),
    fileNames: node.get('mahi:fileNames').texts(),
    optional: readOptional(node.get('mahi:optional')),
    unknownColumns: fieldsMatch === 'subset' || fieldsMatch === 'partial',
    missingColumns: fieldsMatch === 'superset' || fieldsMatch === 'partial',
    orderedColumns: fieldsMatch === 'exact' || dialect.headerRows.length === 0,
    dialect,
    encoding: readEncoding(node.get('encoding')),
    ...readStatistics(node),
    fields: fields.map((field) => (field.name === localId ? { ...field, mayBeAbsent: true } : field)),
    fileCheck,
    headerCheck,
    recordCheck,
    keys,
    hasPrimaryKey,
    foreignKeys,
    recordChecks,
    rules,
    checks,
  }
}

/** Names the checks of a schema that only another program knows. */
function noteCustomChecks(node: Node): void {
  if (!Array.isArray(node.value) || node.value.length === 0) return
  const names = node.list().map((item) => item.get('name').description() ?? 'one without a name')
  node.note(`has checks of another program, which are not run: ${names.join(', ')}`)
}

/** What the descriptor says about the bytes of the file, also where Frictionless writes it. */
function readStatistics(node: Node): Pick<Resource, 'bytes' | 'hash'> {
  const stats = node.get('stats')
  const bytes = [node.get('bytes'), stats.get('bytes')].find((each) => each.present)
  const given = [node.get('hash'), stats.get('hash'), stats.get('sha256'), stats.get('md5')].find(
    (each) => each.present,
  )
  return {
    bytes: bytes?.whole(),
    hash: given === undefined ? undefined : readHash(given, node.get('hashing')),
  }
}

const ALGORITHMS = lookUp<number>({ md5: 32, sha1: 40, sha256: 64, sha512: 128 })

/** Reads the digest of a file: of the algorithm named before a colon or beside it, or the one of this length. */
function readHash(node: Node, hashing: Node): Resource['hash'] {
  const text = node.text()
  if (text === undefined) return undefined
  const [, own, digest = ''] = /^(?:([a-z0-9-]+):)?([0-9a-f]+)$/i.exec(text) ?? []
  const ofLength = Object.keys(ALGORITHMS).find((each) => ALGORITHMS[each] === digest.length)
  const algorithm = own ?? hashing.description() ?? ofLength ?? 'md5'
  const name = algorithm.toLowerCase().replace('-', '')
  if (ALGORITHMS[name] === digest.length) return { algorithm: name, digest: digest.toLowerCase() }
  return node.fault(`must be a digest of ${Object.keys(ALGORITHMS).join(', ')}, such as sha256:e3b0c442...`)
}

/** The names of the columns in SQL: with letters, digits and _, and unique unless two fields differ only by case. */
function nameColumns(names: readonly string[]): string[] {
  const used = new Set(names.map((name) => name.toLowerCase()))
  return names.map((name) => {
    if (/^[A-Za-z_]\w*$/.test(name) && name.toLowerCase() !== 'row') return name
    const base = name.replace(/\W/g, '_').replace(/^(?=\d|row$|$)/i, '_')
    let column = base
    for (let count = 2; used.has(column.toLowerCase()); count++) column = `${base}_${count}`
    used.add(column.toLowerCase())
    return column
  })
}

function readOptional(node: Node): boolean | RegExp {
  if (typeof node.value !== 'string') return node.flag()
  const pattern = node.pattern()
  return pattern === undefined ? false : compilePattern(pattern)
}

const SPREAD_PLACEHOLDERS = ['month', 'value', 'share']

/** Reports placeholders of messages that no value would replace. Those of rules can also be columns of their query. */
function assertPlaceholders(
  node: Node,
  names: readonly string[],
  recordChecks: readonly RecordCheck[],
  checks: readonly Check[],
): void {
  const report = ({ code, message = '' }: Check, own: readonly string[]) => {
    const known = [...own, ...names, ...PARAMETERS]
    for (const name of listPlaceholders(message)) {
      if (!known.includes(name))
        node.fault(`has ${code}, whose message uses the unknown {${name}}${suggest(name, known)}`)
    }
  }
  for (const check of checks) report(check, [])
  for (const { kind, check } of recordChecks) report(check, kind === 'spread' ? SPREAD_PLACEHOLDERS : [])
}

function readRecordFields(node: Node, names: readonly string[]): Resource['record'] {
  node.object()?.knows(['localId', 'courseCode', 'studentId'], { strict: true })
  const positions: Record<string, number> = {}
  for (const name of ['localId', 'courseCode', 'studentId']) {
    const position = node.get(name).present ? readFieldPosition(node.get(name), names) : undefined
    if (position !== undefined) positions[name] = position
  }
  return positions
}

function readKeys(
  schema: Node,
  names: readonly string[],
  derive: (kind: string, concerned: readonly string[]) => Check,
): Key[] {
  const primary = schema.get('primaryKey')
  const nodes = [...(primary.present ? [primary] : []), ...schema.get('uniqueKeys').list()]
  return nodes.map((node, index) => {
    if (node !== primary && !Array.isArray(node.value)) node.fault('must be a list of fields')
    const fields = readFieldPositions(node, names)
    // The kind of the first unique key is key2, even without a primary key, as in the standard.
    const place = primary.present ? index + 1 : index + 2
    const kind = place === 1 ? 'key' : `key${place}`
    return { fields, check: derive(kind, toNames(fields, names)) }
  })
}

function readForeignKeys(
  schema: Node,
  names: readonly string[],
  { fieldsOf, isUnchecked }: ResourceContext,
  self: string,
  derive: (kind: string, place: Node, concerned: readonly string[]) => Check,
): ForeignKey[] {
  return schema
    .get('foreignKeys')
    .list()
    .flatMap((node, index): ForeignKey[] => {
      node.knows(['mahi:check', 'mahi:matches'], { object: 'foreignKey' })
      node.get('reference').knows([], { object: 'reference' })
      const fields = readFieldPositions(node.get('fields'), names)
      const reference = node.get('reference')
      const resource = reference.get('resource').text() || self
      const others = fieldsOf(resource)
      if (others === undefined && isUnchecked(resource))
        return node.note(`is not checked: ${resource} is not`) ?? []
      if (others === undefined) {
        reference.get('resource').fault('is not the name of a resource')
        return []
      }
      const references = readFieldPositions(reference.get('fields'), others)
      if (references.length !== fields.length)
        reference.get('fields').fault(`must have as many fields as the key (${fields.length})`)
      const matches = node.get('mahi:matches').list()
      return [
        {
          fields,
          resource,
          references,
          check: derive(`reference${index + 1}`, node.get('mahi:check'), toNames(fields, names)),
          matches: matches.flatMap((match, order) => {
            const field = readFieldPosition(match.get('field'), names)
            const other = readFieldPosition(match.get('reference'), others)
            if (field === undefined || other === undefined) return []
            const kind = `match${index + 1}${order === 0 ? '' : `-${order + 1}`}`
            return [{ field, reference: other, check: derive(kind, match, toNames([field], names)) }]
          }),
        },
      ]
    })
}

function toNames(positions: readonly number[], names: readonly string[]): string[] {
  return positions.map((position) => names[position] ?? '')
}
