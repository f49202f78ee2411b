import type { Scope } from '../../src/api/access/principal.ts'
import { Service } from './service.ts'
import { startWorker } from './submission-worker.ts'

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'
type Headers = Readonly<Record<string, string | undefined>>

/** What a caller of the service is sent. */
interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  readonly bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it.
  readonly body: any
}

const PROVIDER = ['validation-results:read', 'submissions:write'] as const satisfies readonly Scope[]

/**
 * A service that checks submissions against a definition, callers of it, and a worker once it is started.
 *
 * @param url of its database; by default one of its own
 */
export async function startSubmissions(
  definition: string,
  environment: Readonly<Record<string, string>> = {},
  url?: string,
) {
  const settings = { RATE_LIMIT_SUBMISSIONS: 'off', DEFINITIONS: definition, ...environment }
  const service = await Service.start(settings, url)
  /** A key, and what its holder does; requests are for the first organisation unless they name another. */
  const createCaller = async (
    client: string,
    eids: readonly string[],
    scopes: readonly Scope[] = PROVIDER,
  ) => {
    const { key, id } = await service.createKey({ client, scopes, eids })
    const own = { 'x-api-key': key, ...(eids[0] !== undefined && { eid: eids[0] }) }
    const ask = async (
      method: Method,
      path: string,
      payload?: string | Buffer | object,
      headers: Headers = {},
    ): Promise<Reply> => {
      const isText = typeof payload === 'string' || payload instanceof Buffer
      const response = await service.request({
        method,
        url: `/v1${path}`,
        headers: { ...own, ...(isText && { 'content-type': 'text/csv' }), ...headers } as Record<
          string,
          string
        >,
        ...(payload !== undefined && { payload }),
      })
      const { statusCode: status, headers: received, body: text, rawPayload: bytes } = response
      const isJson = /\bjson\b/.test(String(received['content-type'])) && text !== ''
      return { status, headers: received, text, bytes, body: isJson ? response.json() : undefined }
    }
    return {
      id,
      key,
      eid: eids[0] ?? '',
      ask,
      create: async (returnId = '202512', headers: Headers = {}) =>
        (await ask('POST', '/submissions', { returnId }, headers)).body.submissionToken as string,
      put: (token: string, file: string, content: string | Buffer, headers: Headers = {}) =>
        ask('PUT', `/submissions/${token}/files/${file}`, content, headers),
      /** Requests a run, and waits until a worker has made it. */
      check: async (token: string) => {
        const { body } = await ask('POST', `/submissions/${token}/validation-runs`)
        const path = `/submissions/${token}/validation-runs/${body.runId}`
        for (;;) {
          const run = await ask('GET', path, undefined, { prefer: 'wait=20' })
          if (run.body.dateCompleted !== undefined) return run.body
        }
      },
    }
  }
  const work = (options: Parameters<typeof startWorker>[2] = {}) =>
    startWorker(service.database, [definition], options)
  return { service, definition, createCaller, work }
}
