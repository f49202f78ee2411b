import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type CheckOptions,
  type CheckRequest,
  type CheckSummary,
  checkFiles,
  type Finding,
} from '../../src/engines/checking/check-files.ts'
import type { Definition } from '../../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import type { InputFile } from '../../src/engines/checking/engine/file-state.ts'
import { type EngineInput, runEngine } from '../../src/engines/checking/engine/run.ts'
import { writeDefinition } from './definition.ts'
import { parseLines } from './lines.ts'
import { temporaryFolder, writeFiles } from './temporary.ts'

export interface Checked {
  readonly summary: CheckSummary
  readonly findings: readonly Finding[]
  /** The findings as they are written. */
  readonly text: string
}

function toInputs(files: Readonly<Record<string, string | Uint8Array>>): InputFile[] {
  const folder = writeFiles(files)
  return Object.keys(files).map((name) => ({
    resource: name.replace(/\..*/, ''),
    name,
    path: join(folder, name),
  }))
}

/** Checks files, by their names, in this process; by default against the small definition of a library. */
export async function check(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Partial<EngineInput> = {},
): Promise<Checked> {
  return await checkInputs(toInputs(files), options)
}

/** The definitions of `checkFolder` by their names: reading one takes longer than checking a small return. */
const definitions = new Map<string, Definition>()

/** Checks the files of a folder that have the names of a built-in definition, in this process. */
export async function checkFolder(
  folder: string,
  name: string,
  options: Partial<EngineInput> = {},
): Promise<Checked> {
  const definition = definitions.get(name) ?? loadDefinition(findDefinition(name), { examples: false })
  definitions.set(name, definition)
  const files = definition.resources
    .filter((resource) => existsSync(join(folder, resource.path)))
    .map(({ name: resource, path }) => ({ resource, path: join(folder, path), name: path }))
  return await checkInputs(files, { definition, complete: true, ...options })
}

/** Checks files in this process. */
export async function checkInputs(
  files: readonly InputFile[],
  options: Partial<EngineInput> = {},
): Promise<Checked> {
  const folder = temporaryFolder()
  const output = join(folder, 'findings.ndjson')
  const summary = await runEngine(
    {
      definition: options.definition ?? writeDefinition(),
      files,
      complete: false,
      only: [],
      cap: 100_000,
      findingsBytes: 1e9,
      diskBytes: 1e9,
      skip: {},
      folder: join(folder, 'work'),
      output,
      ...options,
    },
    () => undefined,
  )
  const text = readFileSync(output, 'utf8')
  return { summary, text, findings: parseLines<Finding>(text) }
}

/** Checks files in a child process. */
export async function checkApart(
  files: Readonly<Record<string, string | Uint8Array>>,
  request: Partial<CheckRequest> = {},
  options: CheckOptions = {},
): Promise<Checked> {
  const definition = request.definition ?? writeDefinition()
  const result = await checkFiles({ definition, files: toInputs(files), ...request }, options)
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
