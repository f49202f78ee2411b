import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

/** Writes files to a new folder. */
export function writeFiles(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
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
