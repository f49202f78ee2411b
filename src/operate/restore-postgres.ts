import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, DatabaseUnusable, type Reader, type Writer } from '../foundation/database/database.ts'
import { openDatabase } from '../foundation/database/open.ts'
import { damaged, schemaOf } from './backup.ts'
import { moveDump } from './move-dump.ts'
import { pipePrograms, runProgram } from './postgres-programs.ts'

/**
 * How long the switch waits for readers of the old tables, in milliseconds: new readers wait as long. After a second, by
 * default, the server would end one of two transactions that wait for each other, which could be that of a reader.
 */
const LOCK_TIMEOUT = 500
/** Attempts to switch, and the pause between them in milliseconds, in which readers continue. */
const ATTEMPTS = 120
const PAUSE = 2_000

/**
 * Restores a dump into a schema beside that of the target, and then replaces the tables of the target with its tables.
 *
 * @param prepare called with the restored and migrated database before the switch
 * @throws {DatabaseUnusable} if the user lacks a privilege, or the dump is damaged; nothing is changed then
 */
export async function restorePostgres(
  target: Database,
  url: string,
  file: string,
  prepare: (restored: Database) => Promise<void>,
): Promise<void> {
  const schema = await schemaOf(target)
  await assertPrivileges(target, schema)
  const source = await findSchema(file)
  const beside = `${schema.slice(0, 55)}_restore`
  const drop = (writer: Writer) => writer.run(`drop schema if exists ${quote(beside)} cascade`)
  await target.write('schema', async (writer) => {
    // A command that was killed may have left one.
    await drop(writer)
    await writer.run(`create schema ${quote(beside)}`)
  })
  try {
    await pipePrograms(
      {
        program: 'pg_restore',
        parameters: ['--no-owner', '--no-privileges', `--schema=${source}`, '--file=-', file],
      },
      { program: 'psql', url, parameters: PSQL },
      moveDump(source, beside),
    )
    const restored = await openBeside(url, beside)
    try {
      await prepare(restored)
    } finally {
      await restored.close()
    }
    await switchSchemas(target, schema, beside)
  } finally {
    await target.write('schema', drop)
  }
}

/** Messages without rows: an error of a row would quote it. */
const PSQL = [
  '--quiet',
  '--no-psqlrc',
  '--output=/dev/null',
  '--set=ON_ERROR_STOP=1',
  '--set=VERBOSITY=terse',
  '--set=SHOW_CONTEXT=never',
  '--file=-',
]

/** The schema in the dump that has the tables of Mahi. */
async function findSchema(file: string): Promise<string> {
  const list = await runProgram({ program: 'pg_restore', parameters: ['--list', file] })
  const [, schema] = / TABLE (\S+) migration /.exec(list) ?? []
  if (schema === undefined) throw damaged(file)
  return schema
}

async function assertPrivileges(target: Database, schema: string): Promise<void> {
  const row = await target.get<{ user: string; database: string; create: boolean; own: boolean }>(
    `select current_user as "user", current_database() as database,
       has_database_privilege(current_database(), 'create') as "create",
       has_schema_privilege(current_schema(), 'create') and not exists (
         select 1 from pg_class where relnamespace = current_schema()::regnamespace
           and relkind in ('r', 'p') and not pg_has_role(relowner, 'usage')
       ) as own`,
  )
  if (row === undefined) throw new Error('the server returned no privileges')
  if (!row.own)
    throw new DatabaseUnusable(
      `the user ${row.user} does not own the tables in the schema ${schema}. Set DATABASE_URL to the user that migrates the database. Nothing was changed`,
    )
  if (!row.create)
    throw new DatabaseUnusable(
      `the user ${row.user} may not create the schema to restore into. Run: grant create on database ${quote(row.database)} to ${quote(row.user)}. Nothing was changed`,
    )
}

/** Opens the restored tables as a database of their own, and brings them up to date. */
async function openBeside(url: string, schema: string): Promise<Database> {
  const address = new URL(url)
  const options = address.searchParams.get('options')
  address.searchParams.set('options', `${options === null ? '' : `${options} `}-c search_path=${schema}`)
  const restored = await openDatabase(address.toString().replaceAll('+', '%20'), { existing: true })
  if ((await schemaOf(restored)) === schema) return restored
  await restored.close()
  throw new DatabaseUnusable(
    'the connection ignores its search path: set DATABASE_URL to the server itself instead of a pooler',
  )
}

/** Replaces the tables of a schema with those of another one, as soon as nobody reads the old ones. */
async function switchSchemas(target: Database, schema: string, beside: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await target.write('schema', (writer) => switchTables(writer, schema, beside))
      return
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      if (attempt === ATTEMPTS)
        throw new DatabaseUnusable(
          'the tables are being read without a pause, such as by a backup. Nothing was changed. Run the command again later',
          { cause: error },
        )
      await sleep(PAUSE)
    }
  }
}

async function switchTables(writer: Writer, schema: string, beside: string): Promise<void> {
  const restored = await listTables(writer, beside)
  const old = (await listTables(writer, schema)).filter((table) => restored.includes(table))
  const grants = await listGrants(writer, schema, beside)
  const inOld = old.map((table) => `${quote(schema)}.${quote(table)}`).join(', ')
  await writer.run(`set local lock_timeout = ${LOCK_TIMEOUT}`)
  await writer.run(`lock table ${inOld} in access exclusive mode`)
  await writer.run(`drop table if exists ${inOld} cascade`)
  for (const table of restored)
    await writer.run(`alter table ${quote(beside)}.${quote(table)} set schema ${quote(schema)}`)
  for (const grant of grants) await writer.run(grant)
}

/** The tables of a schema with their partitions. */
async function listTables(reader: Reader, schema: string): Promise<string[]> {
  const rows = await reader.all<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = $1::regnamespace and relkind in ('r', 'p') order by oid`,
    [quote(schema)],
  )
  return rows.map(({ name }) => name)
}

/** Statements that give the moved tables and sequences the owners and privileges of those that they replace. */
async function listGrants(reader: Reader, schema: string, beside: string): Promise<string[]> {
  const moved = `from pg_class c join pg_class r on r.relname = c.relname and r.relkind = c.relkind
    where c.relnamespace = $1::regnamespace and r.relnamespace = $2::regnamespace and c.relkind in ('r', 'p', 'S')`
  const rows = await reader.all<{ statement: string }>(
    `select format('grant %s on %s %s.%I to %s%s', a.privilege_type,
       case c.relkind when 'S' then 'sequence' else 'table' end, c.relnamespace::regnamespace::text, c.relname,
       case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
       case when a.is_grantable then ' with grant option' else '' end) as statement
     from (select c.* ${moved}) c cross join lateral aclexplode(c.relacl) a where a.grantee <> c.relowner
     union all
     select format('alter table %s.%I owner to %s', c.relnamespace::regnamespace::text, c.relname, c.relowner::regrole)
     from (select c.* ${moved} and c.relowner <> r.relowner and c.relkind <> 'S') c`,
    [quote(schema), quote(beside)],
  )
  return rows.map(({ statement }) => statement)
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
