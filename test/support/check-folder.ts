import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Definition } from '../../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import { type InputFile, runEngine } from '../../src/engines/checking/engine/run.ts'
import type { CheckSummary, Finding } from '../../src/engines/checking/engine/summary.ts'

interface Options {
  readonly returnId?: string
  readonly asOf?: string
  readonly only?: readonly string[]
}

/** Checks the files of a folder that carry the names of a definition, in this process. */
export async function checkFolder(
  folder: string,
  name: string,
  options: Options = {},
): Promise<{ summary: CheckSummary; findings: Finding[] }> {
  const path = findDefinition(name)
  const present = new Set(readdirSync(folder))
  const files = loadDefinition(path)
    .resources.filter((resource) => present.has(resource.path))
    .map((resource) => ({
      resource: resource.name,
      path: join(folder, resource.path),
      name: resource.path,
    }))
  return await checkInputs(path, files, options)
}

/** Checks files in this process. */
export async function checkInputs(
  definition: Definition | string,
  files: readonly InputFile[],
  options: Options = {},
): Promise<{ summary: CheckSummary; findings: Finding[] }> {
  const temporary = mkdtempSync(join(tmpdir(), 'mahi-check-'))
  try {
    const output = join(temporary, 'findings.ndjson')
    const input = {
      definition,
      files,
      complete: true,
      only: [],
      cap: 100_000,
      findingsBytes: 1e9,
      diskBytes: 2 ** 30,
      skip: {},
      folder: temporary,
      output,
      ...options,
    }
    const summary = await runEngine(input, () => {})
    const lines = readFileSync(output, 'utf8').split('\n').filter(Boolean)
    return { summary, findings: lines.map((line) => JSON.parse(line) as Finding) }
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

/** Findings as `code file:line`, sorted, for comparison. */
export function placesOf(findings: readonly Finding[]): string[] {
  return findings.map(({ errorCode, file, line }) => `${errorCode} ${file}:${line}`).sort()
}

/** The faults that `faults.csv` of a folder records, in the same form. */
export function readFaults(folder: string): string[] {
  const [, ...lines] = readFileSync(join(folder, 'faults.csv'), 'utf8').trim().split('\n')
  return lines
    .map((line) => {
      const [code, file, number] = line.split(',')
      return `${code} ${file}:${number}`
    })
    .sort()
}
