import Fastify from 'fastify'
import { onTestFinished } from 'vitest'
import type { Access } from '../../src/api/access/admit.ts'
import type { Principal, Verifier } from '../../src/api/access/principal.ts'
import type { Operation } from '../../src/api/contract/contract.ts'
import { answerError } from '../../src/api/contract/errors.ts'
import { prepareOperations, registerOperations, SCHEMA_CONTROLLER } from '../../src/api/contract/register.ts'
import { useBudgets } from '../../src/api/request/caller.ts'
import { Cors } from '../../src/api/request/cors.ts'
import { Unrouted } from '../../src/api/request/routing.ts'
import { VersionRouter } from '../../src/api/request/versions.ts'
import { CommonHeaders } from '../../src/api/serving/headers.ts'
import { SocketBuffers } from '../../src/api/serving/socket-buffers.ts'
import { UnreadResponses } from '../../src/api/serving/unread-responses.ts'
import { createLog } from '../../src/api/telemetry/log.ts'
import { Metrics } from '../../src/api/telemetry/metrics.ts'
import { ResponseLog } from '../../src/api/telemetry/response-log.ts'
import { createBudgets } from '../../src/foundation/budget/budgets.ts'

const PRINCIPAL: Principal = {
  id: 'k1',
  client: 'tests',
  scopes: new Set(['occupations:read']),
  eids: new Set(['1001']),
  expires: Date.now() + 86_400_000,
}

const REFUSING: Verifier = { recall: () => undefined, verify: async () => ({ refused: 'unknown' }) }

/** An app that has these operations only, without a database. */
export function serve(...operations: readonly Operation[]) {
  const app = Fastify({ schemaController: SCHEMA_CONTROLLER })
  const versions = new VersionRouter()
  const common = new CommonHeaders({ stopping: false }, new Cors('*'))
  const log = createLog('info', { write: () => undefined })
  const access: Access = {
    keys: { ...REFUSING, recall: (key) => (key === 'right' ? PRINCIPAL : undefined) },
    bearers: REFUSING,
    audit: { refused: () => undefined } as unknown as Access['audit'],
    consume: async () => undefined,
    limits: {},
    isSuspended: () => false,
    hasEnded: () => undefined,
    responses: { watch: () => undefined } as unknown as Access['responses'],
  }
  app.setErrorHandler(answerError)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('limitHeaders', undefined)
  const unrouted = new Unrouted(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS' || request.is404) return void unrouted.answer(request, reply)
    done()
  })
  const budgets = createBudgets(1)
  useBudgets(app, budgets)
  prepareOperations(app)
  const send = {
    common,
    responses: new ResponseLog(log, new Metrics()),
    unread: new UnreadResponses(budgets['unread-responses']),
    buffers: new SocketBuffers(budgets['socket-buffers']),
  }
  registerOperations(app, { access, send, versions }, operations)
  onTestFinished(() => app.close())
  return app
}
