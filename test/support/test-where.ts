import { test } from 'vitest'
import { engine } from './temporary.ts'

type Test = typeof test | typeof test.skip

/** `test` where a test is possible; elsewhere it is skipped, and a line says why. */
export function testWhere(possible: boolean, reason: string): Test {
  if (possible) return test
  process.stderr.write(`SKIPPED: ${reason}\n`)
  return test.skip
}

/** `test` on SQLite, for what is about its files; on PostgreSQL it is skipped, and a line says so. */
export function testOnSqlite(subject: string): Test {
  return testWhere(engine === 'sqlite', `on PostgreSQL: ${subject}`)
}
