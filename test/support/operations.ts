import Fastify from 'fastify'
import { onTestFinished } from 'vitest'
import type { Access } from '../../src/api/access/admit.ts'
import type { Principal, Verifier } from '../../src/api/access/principal.ts'
import type { Operation } from '../../src/api/contract/contract.ts'
import { answerError } from '../../src/api/contract/errors.ts'
import { prepareOperations, registerOperations, SCHEMA_CONTROLLER } from '../../src/api/contract/register.ts'
import { createSlots } from '../../src/api/create-serving.ts'
import { Unrouted } from '../../src/api/request/routing.ts'
import { VersionRouter } from '../../src/api/request/versions.ts'
import { InFlight } from '../../src/api/serving/in-flight.ts'

const PRINCIPAL: Principal = {
  id: 'k1',
  client: 'tests',
  scopes: new Set(['occupations:read']),
  eids: new Set(['1001']),
  expires: Date.now() + 86_400_000,
}

const REFUSING: Verifier = {
  recall: () => undefined,
  knows: () => false,
  verify: async () => ({ refused: 'unknown' }),
}

/** An app that has these operations only, without a database. */
export function serve(...operations: readonly Operation[]) {
  const app = Fastify({ schemaController: SCHEMA_CONTROLLER })
  const versions = new VersionRouter()
  const access: Access = {
    keys: { ...REFUSING, recall: (key) => (key === 'right' ? PRINCIPAL : undefined) },
    bearers: REFUSING,
    audit: { refused: () => undefined } as unknown as Access['audit'],
    consume: async () => undefined,
    limits: {},
    refresh: async () => undefined,
    ensureCurrent: async () => undefined,
    isSuspended: () => false,
    hasEnded: () => undefined,
    responses: { watch: () => undefined } as unknown as Access['responses'],
  }
  app.setErrorHandler(answerError)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('limitHeaders', undefined)
  app.decorateRequest('held', undefined)
  const unrouted = new Unrouted(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS' || request.is404) return void unrouted.answer(request, reply)
    done()
  })
  app.decorate('inFlight', new InFlight()).decorate('slots', createSlots())
  prepareOperations(app)
  registerOperations(app, { access, versions }, operations)
  onTestFinished(() => app.close())
  return app
}
