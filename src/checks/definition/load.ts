import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from '../../package/root.ts'
import type { Fault } from '../../text/user-error.ts'
import { type Definition, listChecks, type PermittedValue, type SqlRule } from './definition.ts'
import { compilePattern, DefinitionRefused, Node } from './node.ts'
import { readCodelist } from './read-codelist.ts'
import { listFieldNames, readResource } from './read-resource.ts'
import { readRule } from './read-rule.ts'

const DESCRIPTOR = 'datapackage.json'

/** The folder of the built-in definitions. */
export const OWN_DEFINITIONS: string = fileURLToPath(new URL('definitions', PACKAGE_ROOT))

/** The names of the built-in definitions. */
export function listOwnDefinitions(): string[] {
  if (!existsSync(OWN_DEFINITIONS)) return []
  return readdirSync(OWN_DEFINITIONS)
    .filter((name) => existsSync(join(OWN_DEFINITIONS, name, DESCRIPTOR)))
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
  const descriptor = readJson(join(folder, DESCRIPTOR), faults)
  const root = new Node(descriptor, DESCRIPTOR, faults)
  const definition = faults.length === 0 ? readPackage(root, folder, faults, examples) : undefined
  if (faults.length > 0 || definition === undefined) throw new DefinitionRefused(faults)
  return definition
}

function readPackage(
  root: Node,
  folder: string,
  faults: Fault[],
  withExamples: boolean,
): Definition | undefined {
  if (root.object() === undefined) {
    root.fault('must be an object')
    return undefined
  }
  root.knows(['mahi:notice', 'mahi:return'])
  const resources = root.get('resources').list()
  if (resources.length === 0) root.get('resources').fault('is missing')
  const fieldNames = new Map(resources.map((node) => [node.get('name').value, listFieldNames(node)]))
  if (fieldNames.size < resources.length) root.get('resources').fault('has two resources of the same name')
  const fieldsOf = (name: string) => fieldNames.get(name)
  const rules = readRules(folder, faults, fieldsOf, withExamples)

  const codelists = new Map<string, readonly PermittedValue[]>()
  const getCodelist = (name: string, node: Node): readonly PermittedValue[] => {
    const known = codelists.get(name)
    if (known !== undefined) return known
    const path = `codelists/${name}.csv`
    if (!/^[\w-]+$/.test(name) || !existsSync(join(folder, path))) {
      node.fault(`names ${path}, which does not exist`)
      return []
    }
    const codes = readCodelist(readFileSync(join(folder, path), 'utf8'), path, faults)
    codelists.set(name, codes)
    return codes
  }

  const returns = root.get('mahi:return')
  returns.object()?.knows(['default', 'pattern'], { strict: true })
  const pattern = returns.get('pattern').pattern()
  const name = root.get('name').requiredText()
  const definition: Definition = {
    folder,
    name,
    version: root.get('version').requiredText(),
    title: root.get('title').text() ?? name,
    notice: root.get('mahi:notice').text(),
    returns: {
      default: returns.get('default').text(),
      pattern: pattern === undefined ? undefined : compilePattern(pattern),
    },
    resources: resources.map((node) =>
      readResource(node, {
        fieldsOf,
        readCodelist: getCodelist,
        rulesOf: (resource) => rules.filter((each) => each.resource === resource).map(({ rule }) => rule),
      }),
    ),
  }
  reportRepeatedCodes(definition, faults)
  return definition
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

function reportRepeatedCodes(definition: Definition, faults: Fault[]): void {
  const seen = new Set<string>()
  for (const { resource, check } of listChecks(definition)) {
    if (seen.has(check.code))
      faults.push({ file: DESCRIPTOR, field: resource.name, message: `uses the code ${check.code} twice` })
    seen.add(check.code)
  }
}

function readJson(path: string, faults: Fault[]): unknown {
  if (!existsSync(path)) {
    faults.push({ file: path, message: 'does not exist; a definition is a folder with this file' })
    return undefined
  }
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    faults.push({ file: path, message: `is not valid JSON: ${(error as Error).message}` })
    return undefined
  }
}
