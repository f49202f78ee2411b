// Fastify with one query by the driver and a join of the stored texts: no keys, limits, headers, counts or ETags.
import { existsSync, renameSync, rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import Fastify from 'fastify'
import { DOCUMENTS, textOf, unpackLines } from '../../src/submissions/findings/blocks.ts'

const [path = ''] = process.argv.slice(2)
const database = new Sqlite(path, { readonly: true })
database.pragma('mmap_size = 268435456')
const occupations = database
  .prepare('select code, document from occupation where code >= ? order by code limit ?')
  .raw()
const run = database.prepare('select max(run) as run from submission').get() as { run: number | null }
const results = openRows()
  .prepare('select document from entry where run = ? and ordinal >= ? and ordinal < ? order by ordinal')
  .raw()

const app = Fastify()
app.get<{ Querystring: { Cursor?: string; Limit?: string } }>('/v1/occupations', (request, reply) => {
  const limit = Number(request.query.Limit ?? 20)
  const rows = occupations.all(request.query.Cursor ?? '', limit + 1) as [string, string][]
  const next = rows.length > limit ? rows.pop() : undefined
  const documents = rows.map(([, document]) => document).join(',')
  reply.header('content-type', 'application/json; charset=utf-8')
  reply.send(Buffer.from(`{"nextCursor":${JSON.stringify(next?.[0])},"data":[${documents}]}`))
})
app.get<{ Querystring: { page?: string; pageSize?: string } }>(
  '/v1/submissions/:token/validation-results',
  (request, reply) => {
    const size = Number(request.query.pageSize ?? 100)
    const first = (Number(request.query.page ?? 1) - 1) * size
    const rows = results.all(run.run, first, first + size) as [string][]
    reply.header('content-type', 'application/json; charset=utf-8')
    reply.send(Buffer.from(`{"results":[${rows.map(([document]) => document).join(',')}]}`))
  },
)
process.stdout.write(`Listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
process.on('SIGTERM', () => process.exit(0))

/**
 * The findings as rows with one text each, in a file beside the database: what the smallest program would store. They
 * are written once.
 */
function openRows(): Sqlite.Database {
  const file = `${path}-rows-${run.run ?? 0}`
  if (!existsSync(file)) storeRows(`${file}.new`, file)
  const rows = new Sqlite(file, { readonly: true })
  rows.pragma('mmap_size = 268435456')
  return rows
}

function storeRows(unfinished: string, file: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(unfinished + ending, { force: true })
  const rows = new Sqlite(unfinished)
  rows.pragma('journal_mode = wal')
  rows.exec(
    'create table entry (run integer, ordinal integer, document text, primary key (run, ordinal)) without rowid; begin',
  )
  const insert = rows.prepare('insert into entry values (?, ?, ?)')
  const blocks = database
    .prepare(`select run, content from result_block where part = ${DOCUMENTS} order by run, block`)
    .iterate() as IterableIterator<{ run: number; content: Buffer }>
  let [last, ordinal] = [0, 0]
  for (const { run, content } of blocks) {
    if (run !== last) ordinal = 0
    last = run
    for (const line of unpackLines(content.subarray(1))) insert.run(run, ordinal++, textOf(line))
  }
  rows.exec('commit')
  // The last connection to close puts everything into the one file.
  rows.close()
  renameSync(unfinished, file)
}
