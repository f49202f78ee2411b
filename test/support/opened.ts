import { exportOccupations } from '../../src/catalogue/import/export.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'

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
): Promise<string> {
  let text = ''
  await exportOccupations(database, format, async (part) => {
    text += part
  })
  return text
}

/** The lines of an exported catalogue by their codes. */
export function mapLines(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => [(JSON.parse(line) as { occupationCode: string }).occupationCode, line]))
}
