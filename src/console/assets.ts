import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import { PACKAGE_ROOT } from '../package/root.ts'

/** The folder of the style sheet and the scripts: they are served as they are. */
const FOLDER = new URL('src/console/public/', PACKAGE_ROOT)

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The console's style sheet and scripts, compressed once, with validators. */
export function registerAssets(app: FastifyInstance): void {
  const assets = new Map(
    readdirSync(FOLDER).map((name) => {
      const bytes = readFileSync(new URL(name, FOLDER))
      return [
        name,
        {
          type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
          etag: `W/"${hash('sha256', bytes, 'base64url').slice(0, 16)}"`,
          bodies: { br: brotliCompressSync(bytes), gzip: gzipSync(bytes), identity: bytes },
        },
      ] as const
    }),
  )
  app.get<{ Params: { name: string } }>(
    '/console/assets/:name',
    { config: { operation: 'console' } },
    (request, reply) => {
      const asset = assets.get(request.params.name)
      if (asset === undefined) return reply.callNotFound()
      reply.headers({ 'cache-control': 'no-cache', etag: asset.etag, vary: 'accept-encoding' })
      if (request.headers['if-none-match'] === asset.etag) return reply.code(304).send()
      const encoding = (new Negotiator(request.raw).encoding(['br', 'gzip', 'identity']) ??
        'identity') as keyof typeof asset.bodies
      if (encoding !== 'identity') reply.header('content-encoding', encoding)
      return reply.type(asset.type).send(asset.bodies[encoding])
    },
  )
}
