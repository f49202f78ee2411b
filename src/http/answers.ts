import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../log.ts'
import type { Metrics } from './metrics.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name of the operation, in logs and metrics. */
    operation?: string
  }
}

export interface Answer {
  readonly id: string
  readonly operation: string
  readonly status: number
  /** From the arrival of the request to the end of the answer, in milliseconds. */
  readonly ms: number
  readonly client?: string | undefined
}

/** Counts and logs answers: nothing of it is what the caller sent. */
export class Answers {
  readonly #log: Log
  readonly #metrics: Metrics

  constructor(log: Log, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
  }

  record(answer: Answer): void {
    this.#metrics.count(answer.operation, answer.status, answer.ms / 1000)
    this.#log.writeInfo(renderFields(answer))
  }

  recordReply(request: FastifyRequest, reply: FastifyReply): void {
    this.record({
      id: request.id,
      operation: request.routeOptions.config?.operation ?? 'unknown',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      client: request.principal?.client,
    })
  }

  /** Records every reply of the service, once it has been sent. */
  watch(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      this.recordReply(request, reply)
      done()
    })
  }
}

/** As members of a JSON object. Only what an administrator has named a client may need to be quoted. */
function renderFields({ id, operation, status, ms, client }: Answer): string {
  const fields = `"id":"${id}","operation":"${operation}","status":${status},"ms":${ms}`
  return client === undefined ? fields : `${fields},"client":${JSON.stringify(client)}`
}
