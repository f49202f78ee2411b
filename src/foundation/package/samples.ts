import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from './root.ts'

/** The sample data in the package, with one JSON object per line. */
export type SampleName = 'occupations.ndjson' | 'validation-results.ndjson'

/** Returns the path of a sample file. */
export function locateSample(name: SampleName): string {
  return fileURLToPath(new URL(`samples/${name}`, PACKAGE_ROOT))
}

/** Returns the first `count` objects of a sample file. */
export function readSample(name: SampleName, count: number): object[] {
  const lines = readFileSync(locateSample(name), 'utf8').split('\n', count)
  return lines.map((line) => JSON.parse(line) as object)
}
