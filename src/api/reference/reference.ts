import type { FastifyInstance, FastifyRequest } from 'fastify'
import { describeSharedErrors } from '../contract/describe.ts'
import { StaticPage } from '../serving/static-page.ts'
import type { ReferenceDocument } from './document.ts'
import { renderReference } from './reference-page.ts'
import { SCRIPT } from './reference-script.ts'
import { STYLE } from './reference-style.ts'

/** Filled in by the demo, so that every operation can be tried immediately. */
export interface DemoCredentials {
  readonly key: string
  readonly eid: string
  readonly token: string
}

/** Loads nothing from other hosts, and sends no form: its script sends requests. */
const POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  'img-src data:',
  "script-src 'self'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What the page loads. */
const ASSETS = [
  { name: 'reference.css', type: 'text/css; charset=utf-8', text: STYLE },
  { name: 'reference.js', type: 'text/javascript; charset=utf-8', text: SCRIPT },
]

/**
 * Serves `/docs`: the OpenAPI document as a page on which operations can be tried.
 *
 * @param demo filled in only for a browser on the same machine
 */
export function registerReference(app: FastifyInstance, demo: DemoCredentials | undefined): void {
  const options = { schema: { hide: true }, config: { operation: 'docs' } }
  const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
  const render = (filledIn: DemoCredentials | undefined) =>
    renderReference(
      app.swagger() as unknown as ReferenceDocument,
      describeSharedErrors().description,
      filledIn,
    )
  let page: StaticPage | undefined
  for (const path of ['/docs', '/docs/']) {
    app.get(path, options, async (request, reply) => {
      if (demo !== undefined && isOnThisMachine(request))
        return reply.headers({ ...html, 'cache-control': 'no-store' }).send(render(demo))
      page ??= new StaticPage(render(undefined), { ...html, 'cache-control': 'no-cache' })
      return await page.send(request, reply)
    })
  }
  for (const { name, type, text } of ASSETS) {
    const asset = new StaticPage(text, { 'content-type': type, 'cache-control': 'public, max-age=3600' })
    app.get(`/docs/static/${name}`, options, (request, reply) => asset.send(request, reply))
  }
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
