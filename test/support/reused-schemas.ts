import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { engine, temporaryDatabaseUrl } from './temporary.ts'

/** A schema of PostgreSQL with all tables, and what it held before a test used it. */
interface Migrated {
  readonly url: string
  /** Identifies tables, columns, indexes, triggers, functions and privileges. */
  readonly shape: string
  /** The rows that migrations insert, and the statements that continue after their identifiers. */
  readonly rows: readonly { readonly name: string; readonly row: unknown }[]
  readonly sequences: readonly string[]
}

const emptied: Migrated[] = []

/** A SQLite file with all tables. */
let file: Promise<Buffer> | undefined

/**
 * The address of a database for one test, with its tables: creating them takes longer than many tests. In SQLite, it is
 * a copy of one file. In PostgreSQL, a later test of the process gets the same schema without the rows; a test that
 * changes tables keeps its schema.
 */
export async function takeDatabaseUrl(): Promise<string> {
  if (engine === 'sqlite') {
    const url = temporaryDatabaseUrl()
    file ??= createFile(temporaryDatabaseUrl())
    writeFileSync(pathOf(url), await file, { mode: 0o600 })
    return url
  }
  const schema = emptied.pop() ?? (await createTables(temporaryDatabaseUrl()))
  onTestFinished(async () => {
    if (await empty(schema)) emptied.push(schema)
  })
  return schema.url
}

/** An empty database with its tables, for one test. */
export async function openTemporary(): Promise<Database> {
  const database = await openDatabase(await takeDatabaseUrl())
  onTestFinished(() => database.close())
  return database
}

const pathOf = (url: string) => url.replace('sqlite:', '')

async function createFile(url: string): Promise<Buffer> {
  await (await openDatabase(url)).close()
  return readFileSync(pathOf(url))
}

async function createTables(url: string): Promise<Migrated> {
  await (await openDatabase(url)).close()
  return await withClient(url, async (client) => {
    const tables = (await client.query<{ name: string }>(TABLES)).rows
    const union = tables.map(({ name }) => `select '${name}' as name, to_jsonb(t) as row from "${name}" t`)
    const { rows } = await client.query(union.join(' union all '))
    const sequences = (await client.query<{ continues: string }>(SEQUENCES)).rows
    return { url, shape: await readShape(client), rows, sequences: sequences.map((row) => row.continues) }
  })
}

/** Puts a schema back to the state after its migrations; `false` if the test has changed more than rows. */
async function empty({ url, shape, rows, sequences }: Migrated): Promise<boolean> {
  return await withClient(url, async (client) => {
    if ((await readShape(client)) !== shape) return false
    // Without foreign keys, rows can be deleted in any order.
    await client.query(`begin; set local session_replication_role = replica; set local lock_timeout = '2s'`)
    await client.query(DELETE_ROWS)
    for (const { name, row } of rows) {
      const insert = `insert into "${name}" overriding system value`
      await client.query(`${insert} select * from jsonb_populate_record(null::"${name}", $1)`, [row])
    }
    for (const statement of sequences) await client.query(statement)
    await client.query('commit')
    return true
  }).catch(() => false)
}

async function withClient<Result>(url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

async function readShape(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(SHAPE)
  const shape = rows[0]?.shape
  if (shape === undefined) throw new Error('the shape of the schema has no row')
  return shape
}

const TABLES = `select tablename as name from pg_tables where schemaname = current_schema() order by 1`

const SEQUENCES = `
  select format('select setval(%L, %s, %L)', quote_ident(sequencename), coalesce(last_value, start_value),
    last_value is not null) as continues
  from pg_sequences where schemaname = current_schema()`

const SHAPE = `
  select md5(concat(
    (select string_agg(concat(c.oid, c.relname, c.relkind, c.relacl, c.reloptions), ',' order by c.oid)
       from pg_class c where c.relnamespace = n.oid),
    (select string_agg(concat(a.attrelid, a.attnum, a.attname, a.atttypid, a.attnotnull, a.attisdropped), ','
         order by a.attrelid, a.attnum)
       from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = n.oid),
    (select string_agg(concat(t.tgrelid, t.tgname, t.tgenabled), ',' order by t.oid)
       from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = n.oid),
    (select string_agg(concat(oid, conname), ',' order by oid) from pg_constraint where connamespace = n.oid),
    (select string_agg(concat(oid, proname, prosrc), ',' order by oid) from pg_proc where pronamespace = n.oid)
  )) as shape
  from pg_namespace n where n.nspname = current_schema()`

const DELETE_ROWS = `
  do $$ declare each record; begin
    for each in ${TABLES} loop execute format('delete from %I', each.name); end loop;
  end $$`
