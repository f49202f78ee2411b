import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from './root.ts'

/** The illustrative data that comes with the package: one JSON object a line. */
export type SampleName = 'occupations.ndjson' | 'validation-results.ndjson'

/** Where a sample file is. */
export function locateSample(name: SampleName): string {
  return fileURLToPath(new URL(`samples/${name}`, PACKAGE_ROOT))
}

/** The first so many objects of a sample file. */
export function readSample(name: SampleName, count: number): object[] {
  const lines = readFileSync(locateSample(name), 'utf8').split('\n', count)
  return lines.map((line) => JSON.parse(line) as object)
}
