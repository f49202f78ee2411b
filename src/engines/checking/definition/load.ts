import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Fault } from '../../../foundation/faults/user-error.ts'
import { PACKAGE_ROOT } from '../../../foundation/package/root.ts'
import { loadYaml } from '../../../foundation/package/when-used.ts'
import { dropEnd } from '../../../foundation/text/drop-end.ts'
import { parseExactJson } from '../../../foundation/text/exact-json.ts'
import { joinOr } from '../../../foundation/text/join-or.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { explainYaml } from '../../records/index.ts'
import { type Definition, listChecks, type PermittedValue, type SqlRule } from './definition.ts'
import { isFile } from './is-file.ts'
import { DefinitionRefused, Node } from './node.ts'
import { compilePattern } from './pattern.ts'
import { assertProfile, URL_PATH, WITHIN } from './profile.ts'
import { readCodelist } from './read-codelist.ts'
import { familyOf } from './read-record-check.ts'
import { listFieldNames, type ResourceNames, readResource } from './read-resource.ts'
import { readRule } from './read-rule.ts'

const DESCRIPTORS = ['datapackage.json', 'datapackage.yml', 'datapackage.yaml']

/** The name of the descriptor in a folder, if it has one. */
export function findDescriptor(folder: string): string | undefined {
  return DESCRIPTORS.find((name) => existsSync(join(folder, name)))
}

/** The folder of the built-in definitions. */
const OWN_DEFINITIONS: string = fileURLToPath(new URL('definitions', PACKAGE_ROOT))

/** The names of the built-in definitions. */
export function listOwnDefinitions(): string[] {
  if (!existsSync(OWN_DEFINITIONS)) return []
  return readdirSync(OWN_DEFINITIONS)
    .filter((name) => findDescriptor(join(OWN_DEFINITIONS, name)) !== undefined)
    .sort()
}

/** The folder of a built-in definition by its name, or any other folder. */
export function findDefinition(nameOrFolder: string): string {
  const own = listOwnDefinitions().includes(nameOrFolder)
  return own ? join(OWN_DEFINITIONS, nameOrFolder) : resolve(nameOrFolder)
}

/** Whether a folder is that of a definition that comes with Mahi. */
export function isOwnDefinition(folder: string): boolean {
  return dirname(folder) === OWN_DEFINITIONS
}

/**
 * Reads a definition from its folder, for a check of files without the examples of its rules.
 *
 * @throws {DefinitionRefused} with every fault, by file and location
 */
export function loadDefinition(folder: string, { examples = true } = {}): Definition {
  const faults: Fault[] = []
  const file = findDescriptor(folder) ?? 'datapackage.json'
  const descriptor = readDocument(join(folder, file), faults)
  const notes: string[] = []
  const given = new Node(descriptor, file, faults, notes)
  const root = new Node(resolvePaths(given, { folder, file }, faults), file, faults, notes)
  const definition =
    faults.length === 0 ? readPackage(root, { folder, file }, faults, notes, examples) : undefined
  if (faults.length > 0 || definition === undefined) throw new DefinitionRefused(faults)
  return definition
}

/** Where a descriptor is. */
interface Place {
  readonly folder: string
  readonly file: string
}

function readPackage(
  root: Node,
  { folder, file }: Place,
  faults: Fault[],
  notes: string[],
  withExamples: boolean,
): Definition | undefined {
  if (root.object() === undefined) {
    root.fault('must be an object')
    return undefined
  }
  root.knows(['mahi:notice', 'mahi:return'], { object: 'package' })
  assertProfile(root)
  const all = root.get('resources').list()
  if (all.length === 0)
    root.get('resources').fault(root.get('resources').present ? 'must have at least one' : 'is missing')
  const known = all.map((node) => node.get('name').value)
  if (new Set(known).size < known.length) root.get('resources').fault('has two resources of the same name')
  const obstacles: string[] = []
  const unchecked: string[] = []
  const resources = all.filter((node) => {
    const obstacle = findObstacle(node)
    if (obstacle !== undefined) {
      obstacles.push(obstacle)
      unchecked.push(...[node.get('path').value, node.get('extrapaths').value].flat().map(String))
    }
    return obstacle === undefined
  })
  notes.push(...obstacles)
  const fieldNames = new Map(resources.map((node) => [node.get('name').value, listFieldNames(node)]))
  const paths = resources.map((node) => node.get('path').value)
  for (const [index, node] of resources.entries()) {
    if (paths.indexOf(paths[index]) < index) node.get('path').fault('is the path of an earlier resource')
  }
  if (all.length > 0 && resources.length === 0)
    root.get('resources').fault(`has no table that can be checked. ${obstacles.join(' ')}`)
  const names = nameResources(resources)
  const fieldsOf = (name: string) => fieldNames.get(name)
  const rules = readRules(folder, faults, fieldsOf, withExamples)

  const codelists = new Map<string, readonly PermittedValue[]>()
  const getCodelist = (name: string, node: Node): readonly PermittedValue[] => {
    const known = codelists.get(name)
    if (known !== undefined) return known
    const path = `codelists/${name}.csv`
    if (!/^[\w-]+$/.test(name) || !isFile(join(folder, path))) {
      node.fault(`names ${path}, which does not exist`)
      return []
    }
    const codes = readCodelist(readFileSync(join(folder, path)), path, faults)
    codelists.set(name, codes)
    return codes
  }

  const returns = root.get('mahi:return')
  returns.object()?.knows(['default', 'pattern'], { strict: true })
  const pattern = returns.get('pattern').pattern()
  const name = root.get('name').description() ?? basename(resolve(folder))
  const definition: Definition = {
    folder,
    name,
    version: root.get('version').description() ?? '',
    title: root.get('title').description() ?? name,
    notice: root.get('mahi:notice').text(),
    returns: {
      default: returns.get('default').text(),
      pattern: pattern === undefined ? undefined : compilePattern(pattern),
    },
    notes,
    unchecked,
    resources: resources.map((node, index) =>
      readResource(node, {
        names: names[index] as ResourceNames,
        fieldsOf,
        isUnchecked: (resource) => known.includes(resource) && !fieldNames.has(resource),
        readCodelist: getCodelist,
        rulesOf: (resource) => rules.filter((each) => each.resource === resource).map(({ rule }) => rule),
      }),
    ),
  }
  reportRepeatedCodes(definition, file, faults)
  reportReferenceTypes(definition, file, faults)
  return definition
}

/** Endings of files that Mahi does not read. */
const OTHER_FORMATS =
  /\.(?:(?:geo|topo)?json|xml|html?|ya?ml|parquet|arrow|feather|avro|sqlite3?|db|pdf|dbf|shp|kml|gpkg)(?:\.gz)?$/i

/** Why a resource of a package is not a file to check, as a full sentence. */
function findObstacle(node: Node): string | undefined {
  const name = String(node.get('name').value ?? '')
  const { value } = node.get('path')
  if (node.get('data').present)
    return `The resource ${name} has its data in the descriptor, which are not checked.`
  if (typeof value === 'string' && URL_PATH.test(value))
    return `The resource ${name} is at ${value}, which is not downloaded, so it is not checked.`
  if (typeof value === 'string' && OTHER_FORMATS.test(value))
    return `The resource ${name} is in ${value}, which is not CSV, NDJSON or XLSX, so it is not checked. Export it as CSV.`
  // As Frictionless writes several files.
  const files = [value, node.get('extrapaths').value].flat().filter((each) => typeof each === 'string')
  if (files.length > 1)
    return `The resource ${name} has several files, so it is not checked. Join them to one file.`
  const isOwn = node.names().some((property) => property.startsWith('mahi:'))
  if (!node.get('schema').present && !isOwn)
    return `The resource ${name} has no schema, so it is not checked.`
  return undefined
}

/** The names of resources in SQL and in codes: unique, and without characters that have a meaning there. */
function nameResources(resources: readonly Node[]): ResourceNames[] {
  const tables = new Set<string>()
  const prefixes = new Set<string>()
  const choose = (used: Set<string>, base: string, separator: string): string => {
    let name = base
    for (let count = 2; used.has(name.toLowerCase()); count++) name = `${base}${separator}${count}`
    used.add(name.toLowerCase())
    return name
  }
  return resources.map((node) => {
    const name = String(node.get('name').value ?? '')
    const table = name.replace(/\W/g, '_').replace(/^(?=\d|sqlite_|$)/i, '_')
    const code = node.get('mahi:code').value
    const words = name.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
    const slug = dropEnd(words.slice(0, 40), (character) => character === '-')
    return {
      table: choose(tables, table, '_'),
      prefix: typeof code === 'string' ? code : choose(prefixes, slug || 'file', '-'),
    }
  })
}

function readRules(
  folder: string,
  faults: Fault[],
  fieldsOf: (resource: string) => readonly string[] | undefined,
  withExamples: boolean,
): { resource: string; rule: SqlRule }[] {
  const rules = join(folder, 'rules')
  if (!existsSync(rules)) return []
  return readdirSync(rules)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .flatMap((name) => {
      const text = readFileSync(join(rules, name), 'utf8')
      return readRule(text, `rules/${name}`, faults, fieldsOf, withExamples) ?? []
    })
}

function reportRepeatedCodes(definition: Definition, file: string, faults: Fault[]): void {
  const seen = new Set<string>()
  for (const { resource, check } of listChecks(definition)) {
    if (seen.has(check.code))
      faults.push({ file, field: resource.name, message: `uses the code ${check.code} twice` })
    seen.add(check.code)
  }
}

/** A key of numbers never equals a key of texts, so each of its records would be found. */
function reportReferenceTypes({ resources }: Definition, file: string, faults: Fault[]): void {
  for (const { name, fields, foreignKeys } of resources) {
    for (const { resource, references, fields: own } of foreignKeys) {
      const others = resources.find((each) => each.name === resource)?.fields ?? []
      for (const [index, position] of own.entries()) {
        const [field, other] = [fields[position], others[references[index] ?? -1]]
        if (field === undefined || other === undefined || familyOf(field) === familyOf(other)) continue
        const message = `refers from ${field.name}, of type ${field.type}, to ${resource}.${other.name}, of type ${other.type}; give both the same type`
        faults.push({ file, field: name, message })
      }
    }
  }
}

/**
 * Replaces the paths of schemas and dialects in files of their own by their content. Nothing is downloaded: one at a URL
 * is read from the file of its name beside the descriptor.
 */
function resolvePaths(root: Node, { folder, file }: Place, faults: Fault[]): unknown {
  const resources = root.get('resources')
  if (!Array.isArray(resources.value)) return root.value
  const resolved = resources.list().map((resource) => {
    const parts: Record<string, unknown> = {}
    for (const name of ['schema', 'dialect']) {
      const node = resource.get(name)
      const path = node.value
      if (typeof path !== 'string') continue
      const own = URL_PATH.test(path) ? nameOfUrl(path) : path
      const isThere = isFile(join(folder, own))
      if (own !== path && isThere) node.note(`is at ${path}, which is not downloaded: ${own} was read`)
      else if (own !== path)
        node.fault(`is at ${path}, which is not downloaded: save it as ${own} beside ${file}`)
      else if (!WITHIN.test(path)) node.fault('must be a path within the folder of the definition')
      else if (!existsSync(join(folder, path))) node.fault(`is in ${path}, which does not exist`)
      else if (!isThere) node.fault(`must be an object or the path of a file, not "${path}"`)
      if (isThere && WITHIN.test(own)) parts[name] = readDocument(join(folder, own), faults)
    }
    return Object.keys(parts).length === 0 ? resource.value : { ...(resource.value as object), ...parts }
  })
  return { ...(root.value as object), resources: resolved }
}

/** The name of a file that has been downloaded. */
function nameOfUrl(url: string): string {
  const [path = ''] = url.replace(/^\w+:\/+/, '').split(/[?#]/)
  const plain = basename(path)
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '')
  return /\.(?:json|ya?ml)$/i.test(plain) ? plain : `${plain || 'schema'}.json`
}

function readDocument(path: string, faults: Fault[]): unknown {
  if (!existsSync(path)) {
    const folder = dirname(path)
    const own = listOwnDefinitions()
    const near = existsSync(folder) ? '' : suggest(basename(folder), own)
    const message = `does not exist${near}; a definition is a folder with this file, or ${joinOr(own)}`
    faults.push({ file: path, message })
    return undefined
  }
  if (!isFile(path)) {
    faults.push({ file: path, message: 'is not a file' })
    return undefined
  }
  const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  try {
    return path.endsWith('.json') ? parseExactJson(text) : loadYaml().parse(text)
  } catch (error) {
    faults.push({ file: path, ...explainYaml(error, text) })
    return undefined
  }
}
