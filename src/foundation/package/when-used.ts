import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** The reader of YAML, loaded when it is used: a process that reads no definition starts without its 70 modules. */
export function loadYaml(): typeof import('yaml') {
  return load('yaml') as typeof import('yaml')
}

/** SQLite, loaded when it is used: a process that reads an upload has no database. */
export function loadSqlite(): typeof import('better-sqlite3') {
  return load('better-sqlite3') as typeof import('better-sqlite3')
}
