import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Definition } from '../../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import {
  type CheckOptions,
  type CheckRequest,
  type CheckSummary,
  checkFiles,
  type Finding,
} from '../../src/engines/checking/engine/check-files.ts'
import type { InputFile } from '../../src/engines/checking/engine/request.ts'
import { type EngineInput, runEngine } from '../../src/engines/checking/engine/run.ts'
import { Containers } from '../../src/engines/checking/engine/unpack.ts'
import { DEFAULT_LIMITS } from '../../src/engines/checking/process/limits.ts'
import { chooseFixFolder, type Fixed } from '../../src/engines/checking/repair/fix.ts'
import { writeCopies } from '../../src/engines/checking/repair/write-copies.ts'
import { selectFiles } from '../../src/engines/checking/select-files.ts'
import { writeDefinition } from './definition.ts'
import { parseLines } from './lines.ts'
import { temporaryFolder, writeFiles } from './temporary.ts'

export interface Checked {
  readonly summary: CheckSummary
  readonly findings: readonly Finding[]
  /** The findings as they are written. */
  readonly text: string
}

/** Writes files to a new folder. */
export function toInputs(files: Readonly<Record<string, string | Uint8Array>>): InputFile[] {
  const folder = writeFiles(files)
  return Object.keys(files).map((name) => ({
    resource: name.replace(/\..*/, ''),
    name,
    path: join(folder, name),
  }))
}

/** What a test says about a check; the definition may be a folder. */
type Options = Partial<Omit<EngineInput, 'definition'>> & { readonly definition?: Definition | string }

function readDefinition(definition: Definition | string = writeDefinition()): Definition {
  return typeof definition === 'string' ? loadDefinition(definition) : definition
}

/** Checks files, by their names, in this process; by default against the small definition of a library. */
export async function check(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Options = {},
): Promise<Checked> {
  return await checkInputs(toInputs(files), options)
}

/** The definitions of `checkFolder` by their names: reading one takes longer than checking a small return. */
const definitions = new Map<string, Definition>()

/** Checks the files of a folder that have the names of a built-in definition, in this process. */
export async function checkFolder(folder: string, name: string, options: Options = {}): Promise<Checked> {
  const definition = definitions.get(name) ?? loadDefinition(findDefinition(name), { examples: false })
  definitions.set(name, definition)
  const files = definition.resources
    .filter((resource) => existsSync(join(folder, resource.path)))
    .map(({ name: resource, path }) => ({ resource, path: join(folder, path), name: path }))
  return await checkInputs(files, { definition, complete: true, ...options })
}

/** Checks files in this process. */
export async function checkInputs(files: readonly InputFile[], options: Options = {}): Promise<Checked> {
  const folder = temporaryFolder()
  const output = join(folder, 'findings.ndjson')
  const input = { ...DEFAULT_LIMITS, files, skip: {}, folder: join(folder, 'work'), output, ...options }
  const definition = readDefinition(options.definition)
  const summary = await runEngine({ ...input, definition }, () => undefined)
  const text = readFileSync(output, 'utf8')
  return { summary, text, findings: parseLines<Finding>(text) }
}

/** Checks paths as the command does: archives and workbooks are opened, and files assigned to those of a definition. */
export async function checkPaths(
  paths: readonly string[],
  definition: string | Definition | ((opened: readonly string[]) => string) = writeDefinition(),
  named: readonly string[] = [],
) {
  const containers = new Containers()
  onTestFinished(() => containers.remove())
  const opened = await containers.openArchives(paths)
  const loaded = readDefinition(typeof definition === 'function' ? definition(opened) : definition)
  const { files: selected, notes, ...more } = await selectFiles(containers, opened, loaded, named)
  const files = selected as InputFile[]
  return { ...(await checkInputs(files, { definition: loaded, ...more })), files, notes }
}

/** Corrects files into a folder as the command does, in this process. */
export async function fix(
  files: readonly InputFile[],
  definition?: string | Definition,
  { to = temporaryFolder(), work = temporaryFolder(), signal = new AbortController().signal } = {},
) {
  const chosen = chooseFixFolder(to, files, { overwrite: false })
  const request = { definition: readDefinition(definition), files }
  const { folder, names, fixed } = await writeCopies({ request, folder: work, isPacked: false })
  await chosen.take(folder, names, signal)
  return { ...(fixed as Fixed), to, read: (name: string) => readFileSync(join(to, name)) }
}

/** What a person reads of the causes: what is wrong, and what to do. */
export const advise = ({ causes }: CheckSummary) =>
  causes.map(({ sentence, fix: what = '' }) => `${sentence} ${what}`.trim())

/** Checks files in a child process. */
export async function checkApart(
  files: Readonly<Record<string, string | Uint8Array>>,
  request: Partial<Omit<CheckRequest, 'definition'>> & { readonly definition?: Definition | string } = {},
  options: CheckOptions = {},
): Promise<Checked> {
  const definition = readDefinition(request.definition)
  const result = await checkFiles({ files: toInputs(files), ...request, definition }, options)
  onTestFinished(() => result.dispose())
  const findings = await Array.fromAsync(result.findings())
  return { summary: result.summary, findings, text: readFileSync(result.path, 'utf8') }
}

/** `CODE file:line`, for each finding. */
export function places(findings: readonly Finding[]): string[] {
  return findings.map(({ errorCode, file, line }) => `${errorCode} ${file}:${line}`)
}

/** The faults that `faults.csv` of a folder records, in the same form and sorted. */
export function readFaults(folder: string): string[] {
  const [, ...lines] = readFileSync(join(folder, 'faults.csv'), 'utf8').trim().split('\n')
  return lines
    .map((line) => {
      const [code, file, number] = line.split(',')
      return `${code} ${file}:${number}`
    })
    .sort()
}
