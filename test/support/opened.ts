import { exportOccupations } from '../../src/catalogue/import/export.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { sourceOf } from './service.ts'

/** Opens a database as a command does, for as long as some work takes. */
export async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(url)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The catalogue, word for word. */
export async function exportText(
  database: Database,
  format: 'ndjson' | 'flat-csv' = 'ndjson',
  at?: number,
): Promise<string> {
  let text = ''
  const write = async (part: string) => {
    text += part
  }
  await exportOccupations(database, format, write, { at })
  return text
}

/** Returns to a revision with records, as `export --at` and `import --replace --keep-dates` do. */
export async function returnTo(database: Database, revision: number): Promise<void> {
  const records = [...mapLines(await exportText(database, 'ndjson', revision)).values()]
  await importOccupations(database, sourceOf(records.map((line) => JSON.parse(line) as unknown)), {
    replace: true,
    keepDates: true,
    acceptDamaged: true,
  })
}

/** Marks a code as removed, and names its successors. */
export async function replaceCode(database: Database, code: string, by: readonly string[]): Promise<void> {
  await importOccupations(database, sourceOf([{ occupationCode: code, replacedBy: by }]))
}

/** The lines of an exported catalogue by their codes. */
export function mapLines(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => [(JSON.parse(line) as { occupationCode: string }).occupationCode, line]))
}
