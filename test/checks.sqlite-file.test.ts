import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PAGE, SqliteFile, TableWriter } from '../src/engines/checking/engine/sqlite-file.ts'
import { cases } from './support/properties.ts'
import { temporaryFolder } from './support/temporary.ts'

type Value = string | number | null
type Row = readonly [Value, Value, Value]

/** Writes rows with their numbers into a table with a column of each type, and returns what SQLite reads. */
function writeAndRead(path: string, rows: readonly (readonly [number, Row])[]) {
  const empty = new Database(path)
  empty.pragma(`page_size = ${PAGE}`)
  empty.exec('create table a (row integer primary key, t text, i integer, r real); create table b (x)')
  const root = empty.prepare<[], number>("select rootpage from sqlite_schema where name = 'a'").pluck().get()
  empty.close()
  const file = new SqliteFile(path, 1e9)
  const table = new TableWriter(file, root ?? 0, 3)
  for (const [number, row] of rows) {
    for (const [column, value] of row.entries()) {
      if (value === null) table.addNull()
      else if (typeof value === 'string') table.addText(value)
      else table.addNumber(value, column === 2)
    }
    table.endRow(number)
  }
  table.end()
  file.finish()
  file.close()
  const database = new Database(path)
  try {
    database.exec('create index a_t on a (t)')
    return {
      faults: database.pragma('integrity_check', { simple: true }),
      rows: database.prepare<[], [number, ...Row]>('select row, t, i, r from a').raw().all(),
    }
  } finally {
    database.close()
  }
}

/** A text may need a part of a page, or several. */
const text = fc
  .tuple(fc.constantFrom('x', 'ā', '😀'), fc.constantFrom(0, 57, 58, 4000, 16_330, 40_000))
  .map(([character, length]) => character.repeat(length))
const row = fc.tuple(
  fc.option(fc.oneof(text, fc.string({ unit: 'binary' }))),
  fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer(), fc.maxSafeInteger())),
  fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
)

test('SQLite reads every row that was written, and finds no fault in the file', () => {
  const folder = temporaryFolder()
  let run = 0
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 70_000 }), row), { maxLength: 60 }), (steps) => {
      let number = 0
      const rows = steps.map(([step, values]) => {
        number += step
        return [number, values] as const
      })
      const read = writeAndRead(join(folder, `${run++}.db`), rows)
      expect(read.faults).toBe('ok')
      expect(read.rows).toEqual(rows.map(([each, [t, i, r]]) => [each, t, i === 0 ? 0 : i, r === 0 ? 0 : r]))
    }),
    cases(15),
  )
})
