import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'

const HISTORY = 'occupation_past'

export type Engine = 'sqlite' | 'postgres'

export function isEngine(text: string): text is Engine {
  return text === 'sqlite' || text === 'postgres'
}

/** Where a run keeps its files and its database, gone when it ends. */
export interface Place {
  readonly folder: string
  /** The address for the server, and the one for commands: PostgreSQL tells their connections apart by them. */
  readonly serverUrl: string
  readonly commandUrl: string
  /** Connections that the server has to PostgreSQL; `undefined` on SQLite. */
  countConnections(): Promise<number | undefined>
  /** Bytes of the database without the history, which grows until HISTORY_DAYS, and of SQLite's write-ahead log. */
  measure(): Promise<{ readonly database: number; readonly log: number | undefined }>
  /** Does what PostgreSQL does by itself, where a server has its autovacuum turned off. */
  tidy(): Promise<void>
  remove(): Promise<void>
}

/**
 * Makes an empty database.
 *
 * @param postgres a PostgreSQL in which a schema may be made
 */
export async function makePlace(engine: Engine, postgres: string | undefined): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-place-'))
  if (engine === 'sqlite') return makeFile(folder)
  if (postgres === undefined)
    throw new Error('--engine postgres needs a PostgreSQL: name one with --postgres')
  return await makeSchema(folder, postgres)
}

function makeFile(folder: string): Place {
  const file = join(folder, 'mahi.db')
  const url = `sqlite:${file}`
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return {
    folder,
    serverUrl: url,
    commandUrl: url,
    countConnections: async () => undefined,
    measure: async () => ({ database: sizeOf(file) - sizeOfHistory(file), log: sizeOf(`${file}-wal`) }),
    tidy: async () => undefined,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Bytes of a table and its indexes in a SQLite file. */
function sizeOfHistory(file: string): number {
  const database = new Sqlite(file, { readonly: true })
  try {
    const tables = 'select name from sqlite_schema where tbl_name = ?'
    const size = `select coalesce(sum(pgsize), 0) from dbstat where aggregate = true and name in (${tables})`
    return database.prepare(size).pluck().get(HISTORY) as number
  } finally {
    database.close()
  }
}

async function makeSchema(folder: string, postgres: string): Promise<Place> {
  const name = `mahi_place_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: postgres })
  await client.connect()
  await client.query(`create schema ${name}`)
  const urlFor = (program: string) => {
    const url = new URL(postgres)
    url.searchParams.set('options', `-c search_path=${name}`)
    url.searchParams.set('application_name', `${name}_${program}`)
    return url.toString().replaceAll('+', '%20')
  }
  const count = async (sql: string, parameter: string) =>
    Number((await client.query<{ count: string }>(sql, [parameter])).rows[0]?.count)
  return {
    folder,
    serverUrl: urlFor('server'),
    commandUrl: urlFor('command'),
    countConnections: () =>
      count('select count(*) from pg_stat_activity where application_name = $1', `${name}_server`),
    measure: async () => ({
      database: await count(
        `select coalesce(sum(pg_total_relation_size(oid)), 0) as count from pg_class where relkind = 'r' and relname <> '${HISTORY}' and relnamespace = $1::regnamespace`,
        name,
      ),
      log: undefined,
    }),
    async tidy() {
      const { rows } = await client.query<{ autovacuum: string }>('show autovacuum')
      if (rows[0]?.autovacuum !== 'off') return
      const tables = await client.query<{ list: string }>(
        `select string_agg(schemaname || '.' || tablename, ', ') as list from pg_tables where schemaname = $1`,
        [name],
      )
      await client.query(`vacuum ${tables.rows[0]?.list}`)
    },
    async remove() {
      await client.query('set client_min_messages = error')
      await client.query(`drop schema ${name} cascade`)
      await client.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
