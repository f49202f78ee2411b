import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'vitest'
import { Installation } from '../support/command.ts'
import { parseLines } from '../support/lines.ts'
import { testWhere } from '../support/test-where.ts'

const PACKAGE = new URL('../../tools/duckdb/', import.meta.url).pathname

interface DuckDb {
  DuckDBInstance: {
    create(): Promise<{
      connect(): Promise<{
        runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>
        closeSync(): void
      }>
    }>
  }
}

interface SampleRecord {
  occupationCode: string
  renumeration?: { payMidUpperBound?: number }
  minorGroups?: {
    minorGroupRelationType?: string
    minorGroup?: { majorGroups?: { majorGroupRelationType?: string; majorGroup?: { code?: string } }[] }
  }[]
}

/** The same as the recipe, from the records: how many occupations of each Primary major group have an upper quartile. */
function countByGroup(records: readonly SampleRecord[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { renumeration, minorGroups = [] } of records) {
    if (renumeration?.payMidUpperBound === undefined) continue
    const primary = minorGroups.find((each) => each.minorGroupRelationType === 'Primary')
    const major = primary?.minorGroup?.majorGroups?.find((each) => each.majorGroupRelationType === 'Primary')
    const code = major?.majorGroup?.code
    if (code !== undefined) counts[code] = (counts[code] ?? 0) + 1
  }
  return counts
}

testWhere(
  existsSync(join(PACKAGE, 'node_modules')),
  'the recipe for DuckDB: run npm install --prefix tools/duckdb',
)('the recipe of the cookbook reads an export with DuckDB, and writes Parquet', async () => {
  const { DuckDBInstance } = createRequire(join(PACKAGE, 'package.json'))('@duckdb/node-api') as DuckDb
  const sample = readFileSync(new URL('../../samples/occupations.ndjson', import.meta.url), 'utf8')
  const records = parseLines<SampleRecord>(sample)
  const mahi = await new Installation({ inProcesses: true }).fill(records)
  const exported = join(mahi.folder, 'occupations.ndjson')
  const { code } = await mahi.run(['occupations', 'export', '--output', exported])
  expect(code).toBe(0)

  const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8')
  const recipe = /^```sql\n(.*?)^```/ms.exec(cookbook)?.[1] ?? ''
  expect(recipe).toContain('parquet')
  const connection = await (await DuckDBInstance.create()).connect()
  // The recipe names files of the folder in which it runs.
  const here = recipe
    .replaceAll("'occupations.ndjson'", `'${exported}'`)
    .replaceAll("'pay-by", `'${mahi.folder}/pay-by`)
  const rows = (await connection.runAndReadAll(here)).getRowObjectsJson()
  connection.closeSync()
  expect(readFileSync(join(mahi.folder, 'pay-by-group.parquet')).subarray(0, 4).toString()).toBe('PAR1')
  expect(Object.fromEntries(rows.map((row) => [row.majorCode, Number(row.occupations)]))).toEqual(
    countByGroup(records),
  )
})
