// Fastify with one query by the driver and a join of the stored texts: no keys, limits, headers, counts or ETags.
import Fastify from 'fastify'
import pg from 'pg'

const [url = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: 10 })
const app = Fastify()
app.get<{ Querystring: { Cursor?: string; Limit?: string } }>('/v1/occupations', async (request, reply) => {
  const limit = Number(request.query.Limit ?? 20)
  const { rows } = await pool.query<{ code: string; document: string }>({
    name: 'page',
    text: 'select code, document from occupation where code >= $1 order by code limit $2',
    values: [request.query.Cursor ?? '', limit + 1],
  })
  const next = rows.length > limit ? rows.pop() : undefined
  const body = Buffer.from(
    `{"nextCursor":${JSON.stringify(next?.code)},"data":[${rows.map(({ document }) => document).join(',')}]}`,
  )
  return reply.header('content-type', 'application/json; charset=utf-8').send(body)
})
process.stdout.write(`Listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
process.on('SIGTERM', () => process.exit(0))
