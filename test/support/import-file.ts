import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ImportOptions, importOccupations } from '../../src/catalogue/import/import.ts'
import { listMappable, readMapping } from '../../src/catalogue/import/mapping.ts'
import {
  findItemColumn,
  IMPORT_COLUMNS,
  OCCUPATION_COLUMNS,
} from '../../src/catalogue/records/record-schema.ts'
import { OccupationRecord } from '../../src/catalogue/records/schema.ts'
import { readRecords } from '../../src/engines/records/index.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { InputRefused } from '../../src/foundation/faults/faults.ts'
import type { Fault } from '../../src/foundation/faults/user-error.ts'
import { temporaryFolder } from './temporary.ts'

/** Writes a file and imports it; the faults, if it was refused. */
export async function importFile(
  database: Database,
  name: string,
  content: string | Buffer,
  options: ImportOptions & { mapping?: string } = {},
) {
  const folder = temporaryFolder()
  const file = join(folder, name)
  writeFileSync(file, content)
  let mapping: Awaited<ReturnType<typeof readMapping>> | undefined
  if (options.mapping !== undefined) {
    const path = join(folder, 'map.yaml')
    writeFileSync(path, options.mapping)
    mapping = await readMapping(path, OccupationRecord, listMappable(OCCUPATION_COLUMNS))
  }
  const shown: string[] = []
  const records = readRecords([file], {
    columns: IMPORT_COLUMNS,
    findColumn: findItemColumn,
    mapping,
    onShown: ({ cell, shown: text, stored }) => shown.push(`${cell} ${stored} ${text}`),
  })
  try {
    const summary = await importOccupations(database, records, options)
    return { summary, shown, faults: [] as readonly Fault[] }
  } catch (error) {
    if (!(error instanceof InputRefused)) throw error
    return { summary: undefined, shown, faults: error.faults }
  }
}
