import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findDefinition, loadDefinition } from '../../src/checks/definition/load.ts'
import { runEngine } from '../../src/checks/engine/run.ts'
import type { CheckSummary, Finding } from '../../src/checks/engine/summary.ts'

/** Checks the files of a folder that carry the names of a definition, in this process. */
export async function checkFolder(
  folder: string,
  definition: string,
  options: { returnId?: string; asOf?: string } = {},
): Promise<{ summary: CheckSummary; findings: Finding[] }> {
  const temporary = mkdtempSync(join(tmpdir(), 'mahi-check-'))
  try {
    const output = join(temporary, 'findings.ndjson')
    const path = findDefinition(definition)
    const present = new Set(readdirSync(folder))
    const files = loadDefinition(path)
      .resources.filter((resource) => present.has(resource.path))
      .map((resource) => ({
        resource: resource.name,
        path: join(folder, resource.path),
        name: resource.path,
      }))
    const input = {
      definition: path,
      files,
      complete: true,
      only: [],
      cap: 100_000,
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
