import { test } from 'vitest'

/** `test` where a test is possible; elsewhere it is skipped, and a line says why. */
export function testWhere(possible: boolean, reason: string): typeof test | typeof test.skip {
  if (possible) return test
  process.stderr.write(`SKIPPED: ${reason}\n`)
  return test.skip
}
