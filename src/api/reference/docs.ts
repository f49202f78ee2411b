import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../../foundation/is-loopback-host.ts'
import { StaticPage } from '../serving/static-page.ts'
import { escapeHtml, prefersHtml } from './html.ts'

/** Filled in by the demo, so that every operation can be tried immediately. */
export interface DemoCredentials {
  readonly key: string
  readonly eid: string
  readonly token: string
}

/** Loads nothing from other hosts, and runs and applies nothing that stands in the page itself. */
const POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "script-src 'self'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Swagger UI's colours have too little contrast in places (WCAG 2.2, 1.4.3). */
const STYLE = `html { color-scheme: light dark }
.swagger-ui :is(.info .title small, .download-contents) { background: #4a5160 }
.swagger-ui .info .title small.version-stamp { background: #3b6500 }
html:not(.dark-mode) .swagger-ui :is(a, .info a, .renderedMarkdown a) { color: #0b57a4 }
html:not(.dark-mode) .swagger-ui .parameter__in { color: #555 }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #0b57a4 }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #0b6b3f }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a4b00 }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e }
.swagger-ui .btn.execute { background: #0b57a4; border-color: #0b57a4 }
html:not(.dark-mode) .swagger-ui .btn.authorize { color: #0b6b3f; border-color: #0b6b3f }
html:not(.dark-mode) .swagger-ui .btn.cancel { color: #b3261e; border-color: #b3261e }
html.dark-mode .swagger-ui .header-col { color: #e4e6e6 }
.swagger-ui .opblock-summary .copy-to-clipboard, .swagger-ui .opblock-summary .copy-to-clipboard button { height: 24px; min-width: 24px }
@media (max-width: 40rem) {
  .swagger-ui table :is(thead, tbody, tr, th, td) { display: block; min-width: 0; overflow-wrap: anywhere }
  .swagger-ui :is(input, select, textarea, pre) { box-sizing: border-box; min-width: 0 !important; max-width: 100% !important }
}
`

/** Shows the document. The labels and roles are those that axe finds missing in Swagger UI. */
const SCRIPT = `'use strict'
const root = document.getElementById('reference')
const demo = root.dataset.demo === undefined ? undefined : JSON.parse(root.dataset.demo)
const dark = matchMedia('(prefers-color-scheme: dark)')
const showMode = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', showMode)
showMode()

function complete() {
  root.querySelector('.information-container')?.setAttribute('role', 'banner')
  for (const each of root.querySelectorAll('select, input, textarea')) {
    if (each.labels?.length > 0 || each.ariaLabel) continue
    const name = each.closest('[data-param-name]')?.dataset.paramName
    each.ariaLabel = name ?? (each.localName === 'textarea' ? 'Request body' : 'Example')
  }
  for (const each of root.querySelectorAll('pre')) each.tabIndex = 0
}
new MutationObserver(complete).observe(root, { childList: true, subtree: true })

/** The document with what the demo fills in, and without patterns, for which Swagger UI invents random texts. */
function prepare(name, node) {
  if (name === 'pattern' && typeof node === 'string') return undefined
  const example = node?.in === undefined ? undefined : demo?.parameters[node.name]
  return example === undefined ? node : { ...node, example }
}

async function show() {
  const { servers, ...spec } = JSON.parse(await (await fetch('/openapi.json')).text(), prepare)
  const reference = SwaggerUIBundle({
    spec,
    domNode: root,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    syntaxHighlight: false,
    validatorUrl: null,
    onComplete: () => demo && reference.preauthorizeApiKey('apiKey', demo.key),
  })
}
show()
`

const require = createRequire(import.meta.url)
const swaggerUi = dirname(require.resolve('@fastify/swagger-ui/static/swagger-ui.css'))
const read = (name: string) => readFileSync(join(swaggerUi, name))

/** What the page loads. The files of Swagger UI are read once somebody opens it. */
const ASSETS = [
  { name: 'swagger-ui.css', type: 'text/css', content: () => read('swagger-ui.css') },
  { name: 'reference.css', type: 'text/css', content: () => STYLE },
  { name: 'swagger-ui.js', type: 'text/javascript', content: () => read('swagger-ui-bundle.js') },
  { name: 'reference.js', type: 'text/javascript', content: () => SCRIPT },
]

/**
 * Serves `/docs`: the OpenAPI document as a page on which operations can be tried.
 *
 * @param demo filled in only for a browser on the same machine
 */
export function registerDocs(app: FastifyInstance, demo: DemoCredentials | undefined): void {
  const options = { schema: { hide: true }, config: { operation: 'docs' } }
  const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
  const page = new StaticPage(render(undefined), { ...html, 'cache-control': 'no-cache' })
  for (const path of ['/docs', '/docs/']) {
    app.get(path, options, async (request, reply) => {
      if (demo !== undefined && isOnThisMachine(request))
        return reply.headers({ ...html, 'cache-control': 'no-store' }).send(render(demo))
      return await page.send(request, reply)
    })
  }
  for (const { name, type, content } of ASSETS) {
    let asset: StaticPage | undefined
    app.get(`/docs/static/${name}`, options, async (request, reply) => {
      asset ??= new StaticPage(content(), {
        'content-type': `${type}; charset=utf-8`,
        'cache-control': 'public, max-age=3600',
      })
      return await asset.send(request, reply)
    })
  }
}

/**
 * Serves `/`, which redirects people to a page and tells programs where to go.
 *
 * @param home the path of the first page for people
 */
export function registerRoot(app: FastifyInstance, home: string): void {
  app.get('/', { schema: { hide: true }, config: { operation: 'root' } }, async (request, reply) => {
    reply.headers({ vary: 'accept', 'cache-control': 'no-cache' })
    if (prefersHtml(request)) return reply.redirect(home, 302)
    return {
      name: 'Mahi',
      home,
      documentation: '/docs',
      openapi: '/openapi.json',
      problems: '/problems',
      health: '/readyz',
    }
  })
}

function render(demo: DemoCredentials | undefined): string {
  const given = demo && { key: demo.key, parameters: { EID: demo.eid, submissionToken: demo.token } }
  const data = given === undefined ? '' : ` data-demo="${escapeHtml(JSON.stringify(given))}"`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mahi API reference</title>
<link rel="icon" href="data:,">
${ASSETS.map(({ name, type }) =>
  type === 'text/css'
    ? `<link rel="stylesheet" href="/docs/static/${name}">`
    : `<script src="/docs/static/${name}" defer></script>`,
).join('\n')}
<body>
<noscript><p>This page needs JavaScript. <a href="/openapi.json">openapi.json</a> has the same content.</p></noscript>
<div id="reference"${data}></div>
</body>
</html>
`
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/

/**
 * Whether a browser on this machine displays the page directly. Pages of other origins (which send Origin), foreign
 * host names that resolve to this machine, and forwarding proxies get no key.
 */
function isOnThisMachine({ socket, headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return (
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    isLoopbackHost(URL.parse(`http://${headers.host}`)?.hostname ?? '') &&
    headers.origin === undefined &&
    (site === undefined || site === 'none' || site === 'same-origin') &&
    headers['x-forwarded-for'] === undefined &&
    headers.forwarded === undefined
  )
}
