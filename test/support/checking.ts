import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type CheckOptions,
  type CheckRequest,
  type CheckSummary,
  checkFiles,
  type Finding,
} from '../../src/engines/checking/check-files.ts'
import { type EngineInput, runEngine } from '../../src/engines/checking/engine/run.ts'
import { writeDefinition } from './definition.ts'
import { temporaryFolder } from './temporary.ts'

export interface Checked {
  readonly summary: CheckSummary
  readonly findings: readonly Finding[]
  /** The findings as they are written. */
  readonly text: string
}

/** Writes files to a new folder. */
export function writeFiles(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

function toInputs(files: Readonly<Record<string, string | Uint8Array>>) {
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
  const folder = temporaryFolder()
  const output = join(folder, 'findings.ndjson')
  const summary = await runEngine(
    {
      definition: options.definition ?? writeDefinition(),
      files: toInputs(files),
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
  const lines = text.split('\n').slice(0, -1)
  return { summary, text, findings: lines.map((line) => JSON.parse(line) as Finding) }
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
