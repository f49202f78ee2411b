import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { StaticPage } from '../api/serving/static-page.ts'
import { lookUp } from '../foundation/look-up.ts'
import { PACKAGE_ROOT } from '../foundation/package/root.ts'

/** The folder of the style sheet and the scripts, which are served unchanged. */
const FOLDER = new URL('src/console/public/', PACKAGE_ROOT)

const TYPES = lookUp<string>({
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
})

const files = readdirSync(FOLDER)
  .sort()
  .map((name) => ({ name, bytes: readFileSync(new URL(name, FOLDER)) }))
const version = hash('sha256', Buffer.concat(files.map(({ bytes }) => bytes)), 'base64url').slice(0, 12)

/** Where the files are. The path changes with them, so a browser requests each version once. */
export const ASSETS = `/console/assets/${version}`

/** Serves the console's style sheet and scripts, compressed once. */
export function registerAssets(app: FastifyInstance): void {
  const assets = new Map(
    files.map(({ name, bytes }) => {
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      return [name, new StaticPage(bytes, { 'content-type': type })] as const
    }),
  )
  app.get<{ Params: { version: string; name: string } }>(
    '/console/assets/:version/:name',
    { config: { operation: 'console' } },
    async (request, reply) => {
      const { params } = request
      const asset = assets.get(params.name)
      if (asset === undefined) return reply.callNotFound()
      // In a rolling restart, a page of one replica requests its files from another, whose files have other content.
      const isOwn = params.version === version
      reply.header('cache-control', isOwn ? 'public, max-age=31536000, immutable' : 'no-cache')
      await asset.send(request, reply)
      return reply
    },
  )
}
