// Fastify with one query by the driver and a join of the stored texts: no keys, limits, headers, counts or ETags.
import Sqlite from 'better-sqlite3'
import Fastify from 'fastify'

const [path = ''] = process.argv.slice(2)
const database = new Sqlite(path, { readonly: true })
database.pragma('mmap_size = 268435456')
const occupations = database
  .prepare('select code, document from occupation where code >= ? order by code limit ?')
  .raw()
const results = database
  .prepare(
    'select document from result_entry where run = ? and ordinal >= ? and ordinal < ? order by ordinal',
  )
  .raw()
const run = database.prepare('select max(run) as run from submission').get() as { run: number | null }

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
