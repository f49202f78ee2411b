// Work that is not a request: an import and a publish beside the same rows written by a bare loop of the driver.
// Run as a process of its own for each figure: `node bench/storing.ts KIND COUNT FILE`; prints one JSON object.
import Sqlite from 'better-sqlite3'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { generateFindings, generateOccupations } from './data.ts'

const [kind = '', count = '0', file = ''] = process.argv.slice(2)
const rows = Number(count)
const started = performance.now()
await store()
const seconds = (performance.now() - started) / 1000
process.stdout.write(
  `${JSON.stringify({ kind, rows, seconds, peakMemory: process.resourceUsage().maxRSS / 1024 })}\n`,
)

async function store(): Promise<void> {
  switch (kind) {
    case 'import': {
      const database = await openDatabase(`sqlite:${file}`)
      await importOccupations(database, generateOccupations(rows), { keepDates: true })
      await database.close()
      return
    }
    case 'publish': {
      const database = await openDatabase(`sqlite:${file}`)
      await publishResults(database, generateFindings(rows), {
        eid: '1001',
        returnId: 'bench',
        token: 'bench-submission',
      })
      await database.close()
      return
    }
    case 'bare-import':
      return await bareImport()
    case 'bare-publish':
      return await barePublish()
    case 'generate-import':
    case 'generate-publish': {
      // What making the input alone costs, to be taken off both sides.
      let bytes = 0
      for await (const { value } of kind === 'generate-import'
        ? generateOccupations(rows)
        : generateFindings(rows)) {
        bytes += JSON.stringify(value).length
      }
      if (bytes === 0) throw new Error('nothing was generated')
      return
    }
    default:
      throw new Error(`unknown kind: ${kind}`)
  }
}

function open(schema: string): Sqlite.Database {
  const database = new Sqlite(file)
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = full')
  database.pragma('cache_size = -65536')
  database.exec(schema)
  return database
}

/** The same rows in the same tables with the same indexes, and nothing looked at. */
async function bareImport(): Promise<void> {
  const database = open(`
    create table occupation (code text primary key, updated integer, hash text, filters text, document text);
    create table posting (filter integer, code text, updated integer, primary key (filter, code)) without rowid;
    create index posting_by_date on posting (filter, updated, code);`)
  const occupation = database.prepare('insert into occupation values (?, ?, ?, ?, ?)')
  const posting = database.prepare('insert into posting values (?, ?, ?)')
  database.exec('begin immediate')
  for await (const { value } of generateOccupations(rows)) {
    const record = value as {
      occupationCode: string
      lastUpdatedDate: string
      minorGroups: { minorGroup: { code: string; majorGroups: { majorGroup: { code: string } }[] } }[]
    }
    const updated = Date.parse(record.lastUpdatedDate)
    const minors = record.minorGroups.map(({ minorGroup }) => Number(minorGroup.code))
    const majors = new Set(
      record.minorGroups.flatMap(({ minorGroup }) =>
        minorGroup.majorGroups.map(({ majorGroup }) => majorGroup.code),
      ),
    )
    occupation.run(
      record.occupationCode,
      updated,
      'h'.repeat(27),
      JSON.stringify(minors),
      JSON.stringify(record),
    )
    for (const major of [0, ...[...majors].map((code) => 1 + Number(code))]) {
      for (const minor of [0, ...minors]) posting.run(major * 1000 + minor, record.occupationCode, updated)
    }
  }
  database.exec('commit')
  database.close()
}

async function barePublish(): Promise<void> {
  const database = open(
    'create table entry (run integer, ordinal integer, document text, primary key (run, ordinal)) without rowid',
  )
  const entry = database.prepare('insert into entry values (1, ?, ?)')
  database.exec('begin immediate')
  let ordinal = 0
  for await (const { value } of generateFindings(rows)) entry.run(ordinal++, JSON.stringify(value))
  database.exec('commit')
  database.close()
}
