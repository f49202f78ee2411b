import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { SETTINGS } from '../../src/settings.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const { version: VERSION, ...PACKAGE } = JSON.parse(readRepositoryFile('package.json')) as {
  version: string
  files: string[]
  scripts: Record<string, string>
  engines: { node: string }
}

/** Longest that a server takes from SIGTERM to its end, in seconds: SHUTDOWN_GRACE and what follows. */
export const STOPPING_SECONDS = Number(SETTINGS.SHUTDOWN_GRACE.default) + 4

export function readRepositoryFile(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8')
}

/** One YAML document, with anchors and merges resolved; fails on anything that a parser would only warn of. */
export function readYaml<T>(path: string, text: string = readRepositoryFile(path)): T {
  const document = parseDocument(text, { merge: true, uniqueKeys: true })
  const [fault] = [...document.errors, ...document.warnings]
  if (fault !== undefined) throw new Error(`${path}: ${fault.message}`)
  return document.toJS() as T
}

/** A manifest of deploy/kubernetes. */
export function readManifest<T>(name: string): T {
  return readYaml<T>(`deploy/kubernetes/${name}.yaml`)
}

/** The alert rules for Prometheus. */
export const alerts = readYaml<{
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
}>('deploy/monitoring/alerts.yaml').groups.flatMap(({ rules }) => rules)

export function isSetting(name: string): boolean {
  return Object.hasOwn(SETTINGS, name)
}

interface Instruction {
  readonly name: string
  /** The words after the name; those of an exec form are its strings. */
  readonly words: readonly string[]
  /** Words such as `--from=build`, by name. */
  readonly flags: Readonly<Record<string, string>>
}

export interface Stage {
  readonly name: string
  readonly base: string
  readonly instructions: readonly Instruction[]
}

/** The stages of a Dockerfile without here-documents, in their order. */
export function readDockerfile(path: string): Stage[] {
  const lines = readRepositoryFile(path)
    .split('\n')
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
  const stages: { name: string; base: string; instructions: Instruction[] }[] = []
  for (const instruction of lines.map(readInstruction)) {
    const [base = '', as, name] = instruction.words
    if (instruction.name !== 'FROM') stages.at(-1)?.instructions.push(instruction)
    else stages.push({ base, name: as === 'AS' && name ? name : 'final', instructions: [] })
  }
  return stages
}

function readInstruction(line: string): Instruction {
  const [, name = '', given = '', text = ''] = /^([A-Z]+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? []
  const flags = Object.fromEntries(
    given
      .split(/\s+/)
      .filter((word) => word !== '')
      .map((flag) => flag.slice(2).split('=', 2)),
  ) as Record<string, string>
  const [, check, list] = /^(CMD )?(\[.*\])$/.exec(text) ?? []
  if (list === undefined) return { name, flags, words: text.split(/\s+/) }
  return { name, flags, words: [...(check === undefined ? [] : ['CMD']), ...(JSON.parse(list) as string[])] }
}

/**
 * An environment without Node's own options.
 *
 * @throws if Node takes one of them from nowhere but the command line
 */
export function withoutNodeOptions<Value>(environment: Record<string, Value>): Record<string, Value> {
  const { NODE_OPTIONS: options = '', ...rest } = environment
  for (const option of String(options).split(' ').filter(Boolean))
    if (!process.allowedNodeEnvironmentFlags.has(option))
      throw new Error(`NODE_OPTIONS may not have ${option}`)
  return rest as Record<string, Value>
}
