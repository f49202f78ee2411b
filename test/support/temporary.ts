import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Addresses of empty schemas in PostgreSQL, where the tests run on it: `postgres-setup.ts` makes them. */
export const schemas: string[] = []

/** Which engine the tests of this run use. */
export const engine: 'sqlite' | 'postgres' = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

/** A folder for one test, gone when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The address of an empty database for one test: a SQLite file, or a schema in PostgreSQL. */
export function temporaryDatabaseUrl(): string {
  if (engine === 'sqlite') return `sqlite:${join(temporaryFolder(), 'test.db')}`
  const url = schemas.pop()
  if (url === undefined)
    throw new Error('the test file has used up its schemas: see SCHEMAS in postgres-setup.ts')
  return url
}
