import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { StaticPage } from '../serving/static-page.ts'
import { escapeHtml } from './html.ts'
import { SCRIPT } from './reference-script.ts'

/** Filled in by the demo, so that every operation can be tried immediately. */
export interface DemoCredentials {
  readonly key: string
  readonly eid: string
  readonly token: string
}

/** Loads nothing from other hosts. Swagger UI sets styles on its elements. */
const POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const STYLE = `html{color-scheme:light}html.dark-mode{color-scheme:dark;background:#1c2022}
body{margin:0}
.demo{font:1rem/1.5 system-ui,sans-serif;padding:.75rem 1rem;background:#fff3cd;color:#4d3a00}
`

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'
/** Files of Swagger UI, contained in the package of its Fastify plugin. */
const FILES = { 'swagger-ui.css': CSS, 'swagger-ui-bundle.js': JAVASCRIPT }

/**
 * Serves `/docs`: the OpenAPI document as a page on which operations can be tried.
 *
 * @param demo filled in only for a browser on the same machine
 */
export function registerReference(app: FastifyInstance, demo: DemoCredentials | undefined): void {
  const options = { schema: { hide: true }, config: { operation: 'docs' } }
  const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
  const page = new StaticPage(renderReference(undefined), { ...html, 'cache-control': 'no-cache' })
  for (const path of ['/docs', '/docs/']) {
    app.get(path, options, async (request, reply) => {
      if (demo === undefined || !isOnThisMachine(request)) return await page.send(request, reply)
      return reply.headers({ ...html, 'cache-control': 'no-store' }).send(renderReference(demo))
    })
  }

  const serve = (name: string, type: string, read: () => string | Buffer) => {
    let asset: StaticPage | undefined
    app.get(`/docs/static/${name}`, options, async (request, reply) => {
      asset ??= new StaticPage(read(), { 'content-type': type, 'cache-control': 'public, max-age=3600' })
      return await asset.send(request, reply)
    })
  }
  serve('reference.css', CSS, () => STYLE)
  serve('reference.js', JAVASCRIPT, () => SCRIPT)
  const folder = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json'))
  for (const [name, type] of Object.entries(FILES)) {
    serve(name, type, () => readFileSync(join(folder, 'static', name)))
  }
}

function renderReference(demo: DemoCredentials | undefined): string {
  const banner =
    demo === undefined
      ? ''
      : '\n<p class="demo">This is the demo. Its key, its organisation and its submission are filled in below.</p>'
  const data = demo === undefined ? '' : ` data-demo="${escapeHtml(JSON.stringify(demo))}"`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mahi API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<link rel="stylesheet" href="/docs/static/reference.css">
<script src="/docs/static/swagger-ui-bundle.js" defer></script>
<script src="/docs/static/reference.js" defer></script>
<body>${banner}
<div id="reference"${data}></div>
<noscript><p>This page needs JavaScript. The same reference is at <a href="/openapi.json">/openapi.json</a>.</p></noscript>
</body>
</html>
`
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i

/**
 * Whether a browser on this machine displays the page directly. Pages of other origins (which send Origin), foreign
 * host names that resolve to this machine, and forwarding proxies get no key.
 */
function isOnThisMachine({ socket, headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return (
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    LOCAL_HOST.test(headers.host ?? '') &&
    headers.origin === undefined &&
    (site === undefined || site === 'none' || site === 'same-origin') &&
    headers['x-forwarded-for'] === undefined &&
    headers.forwarded === undefined
  )
}
