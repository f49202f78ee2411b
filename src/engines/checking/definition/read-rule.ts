import type { Fault } from '../../../foundation/faults/user-error.ts'
import { loadYaml } from '../../../foundation/package/when-used.ts'
import { explainYaml } from '../../records/index.ts'
import { CHECK_PROPERTIES, readCheck } from './check-info.ts'
import type { Relation, RuleExample, SqlRule } from './definition.ts'
import { Node } from './node.ts'
import { stripSql } from './strip-sql.ts'

/**
 * Reads a rule: a comment that holds YAML, then one query. The examples are most of the comment, and nothing but the
 * tests and the pages of a definition uses them.
 */
export function readRule(
  text: string,
  file: string,
  faults: Fault[],
  fieldsOf: (resource: string) => readonly string[] | undefined,
  withExamples: boolean,
): { resource: string; rule: SqlRule } | undefined {
  const comment = /^\s*\/\*\r?\n([\s\S]*?)\*\//.exec(text)
  if (comment?.[1] === undefined) {
    faults.push({ file, line: 1, message: 'must start with a comment /* ... */ that holds YAML' })
    return undefined
  }
  const yaml = withExamples ? comment[1] : comment[1].replace(EXAMPLES, '')
  const document = loadYaml().parseDocument(yaml, { schema: 'failsafe' })
  for (const error of document.errors) {
    const { line = 0, message } = explainYaml(error, yaml)
    faults.push({ file, line: 1 + line, message: `front matter ${message}` })
  }
  if (document.errors.length > 0) return undefined
  const node = new Node(document.toJS(), file, faults)
  if (node.object() === undefined) {
    node.fault('has no front matter')
    return undefined
  }
  node.knows(['file', 'fields', 'relates', 'examples', ...CHECK_PROPERTIES], { strict: true })

  const resource = node.get('file').requiredText()
  const names = fieldsOf(resource)
  if (names === undefined && resource !== '') node.get('file').fault('is not the name of a resource')
  const fields = node
    .get('fields')
    .listOrOne()
    .flatMap((item) => {
      const name = item.text() ?? ''
      if (names !== undefined && !names.includes(name)) item.fault(`is not a field of ${resource}`)
      return name
    })
  if (fields.length === 0) node.get('fields').fault('must name at least one field')
  for (const name of ['message', 'why', 'fix']) node.get(name).requiredText()
  const code = node.get('code').requiredText()
  if (code !== '' && !file.endsWith(`/${code}.sql`))
    node.get('code').fault(`is ${code}, but the file must then be named ${code}.sql`)
  const check = readCheck(node, { code, kind: 'rule', fields })

  const sql = text
    .slice(comment.index + comment[0].length)
    .trim()
    .replace(/;\s*$/, '')
  // What else is wrong with a query is seen when SQLite prepares it.
  if (/\bselect\s+(?:distinct\s+)?(?:\w+\.)?\*/i.test(stripSql(sql)))
    faults.push({ file, message: 'the query must name its columns: select * would load every column' })
  const relates = readRelations(node.get('relates'), names ?? [], fieldsOf)
  const examples = node
    .get('examples')
    .list()
    .map((item, index) => readExample(item, index, resource, fieldsOf))
  return { resource, rule: { check, file, sql, relates, examples } }
}

/** The fields by which a rule relates the records of its file to those of others: `{enrolments: [courseCode, {learner: id}]}`. */
function readRelations(
  node: Node,
  names: readonly string[],
  fieldsOf: (resource: string) => readonly string[] | undefined,
): Relation[] {
  return node.names().map((resource) => {
    const others = fieldsOf(resource)
    if (others === undefined) node.get(resource).fault('is not the name of a resource')
    const pairs = node
      .get(resource)
      .list()
      .flatMap((item) => {
        const own = typeof item.value === 'string' ? item.value : (item.names()[0] ?? '')
        const other = typeof item.value === 'string' ? own : (item.get(own).text() ?? '')
        const pair = { own: names.indexOf(own), other: (others ?? []).indexOf(other) }
        if (pair.own >= 0 && pair.other >= 0) return [pair]
        item.fault(`must name a field of both files, or {field: field of ${resource}}`)
        return []
      })
    return { resource, pairs }
  })
}

/** The property `examples` with the lines that belong to it. */
const EXAMPLES = /^examples:.*\n?(?:[ \t-].*\n?|\r?\n)*/m

function readExample(
  node: Node,
  index: number,
  resource: string,
  fieldsOf: (resource: string) => readonly string[] | undefined,
): RuleExample {
  node.knows(['name', 'records', 'finds', 'return', 'asOf'], { strict: true })
  const records = node.get('records')
  if (records.object() === undefined) records.fault('is missing')
  const sets = records.names().map((name) => {
    const fields = fieldsOf(name)
    const set = records.get(name)
    if (fields === undefined) set.fault('is not the name of a resource')
    const rows = set.list().map((row) => {
      row.object()?.knows(fields ?? row.names(), { strict: true })
      return Object.fromEntries(
        row.names().map((field) => {
          const value = row.get(field)
          return [field, Array.isArray(value.value) ? value.texts() : (value.text() ?? '')] as const
        }),
      )
    })
    return [name, rows] as const
  })
  const found = Object.fromEntries(sets)[resource]?.length ?? 0
  if (!node.get('finds').present) node.get('finds').fault('is missing; write [] if the rule finds nothing')
  const finds = node
    .get('finds')
    .list()
    .flatMap((item) => {
      const text = item.text() ?? ''
      if (/^[1-9]\d*$/.test(text) && Number(text) <= found) return [Number(text)]
      item.fault(`must be a position from 1 to ${found} of the records of ${resource}`)
      return []
    })
  return {
    name: node.get('name').text() ?? `example ${index + 1}`,
    records: Object.fromEntries(sets),
    finds,
    returnId: node.get('return').text(),
    asOf: node.get('asOf').date(),
  }
}
