import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { action, jsonOption } from '../foundation/command-line/command.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import { type Database, DatabaseUnusable } from '../foundation/database/database.ts'
import { isMigrated } from '../foundation/database/migrate.ts'
import { connectDatabase, openDatabase } from '../foundation/database/open.ts'
import { count as formatCount } from '../foundation/text/format-number.ts'
import { type CopiedTable, copyDatabase, count } from './copy.ts'
import { listTables, type Table } from './tables.ts'

/** Adds `copy`. */
export function addCopyCommand(program: Command): void {
  program
    .command('copy')
    .description('copy everything from one database into an empty one, for example from SQLite to PostgreSQL')
    .requiredOption('--from <url>', 'source database, as in DATABASE_URL')
    .requiredOption('--to <url>', 'target database, as in DATABASE_URL')
    .addOption(jsonOption)
    .action(
      action(async ({ from, to, json }: { from: string; to: string; json?: true }) => {
        const tables = await copyBetween(from, to, ({ name, rows }) => {
          if (!json) say(`${name}: ${formatCount(rows, 'row')}`)
        })
        const rows = tables.reduce((sum, table) => sum + table.rows, 0)
        if (json) return writeOut(`${JSON.stringify({ tables, rows })}\n`)
        say(
          `Copied ${formatCount(rows, 'row')} of ${formatCount(tables.length, 'table')}. Counts and digests are equal in both databases.`,
        )
      }),
    )
}

/**
 * Copies one database to another, by their URLs. The source is only read.
 *
 * @throws {DatabaseUnusable}
 */
async function copyBetween(
  from: string,
  to: string,
  onTable?: (table: CopiedTable) => void,
): Promise<CopiedTable[]> {
  if (from === to) throw new DatabaseUnusable('--from and --to name the same database')
  // Without migrations, so that the source is not changed.
  const source = await connectDatabase(from, { existing: true })
  try {
    if (!(await isMigrated(source)))
      throw new DatabaseUnusable(
        `${source.address} is not up to date. Run "mahi migrate" on it with this version first`,
      )
    const target = await openDatabase(to)
    try {
      const tables = await matchTables(source, target)
      return await copyDatabase(source, target, {
        tables,
        pristine: await countPristine(tables),
        ...(onTable && { onTable }),
      })
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** The tables of the source; the target must have each of them with the same columns. */
async function matchTables(source: Database, target: Database): Promise<Table[]> {
  const [tables, others] = [await listTables(source), await listTables(target)]
  const describe = ({ name, columns }: Table) => `${name} ${[...columns].sort().join(' ')}`
  const found = new Set(others.map(describe))
  const missing = tables.filter((table) => !found.has(describe(table)))
  if (missing.length > 0)
    throw new DatabaseUnusable(
      `the tables ${missing.map(({ name }) => name).join(', ')} differ between the two databases. Both must be migrated to this version`,
    )
  return tables
}

/** The number of rows of each table right after the migrations, which the target must not exceed. */
async function countPristine(tables: readonly Table[]): Promise<Map<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-copy-'))
  try {
    const database = await openDatabase(`sqlite:${join(folder, 'empty.db')}`)
    const made = new Set((await listTables(database)).map(({ name }) => name))
    const counts = new Map<string, number>()
    for (const { name } of tables) counts.set(name, made.has(name) ? await count(database, name) : 0)
    await database.close()
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
