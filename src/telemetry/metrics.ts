import { createServer, type Server } from 'node:http'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { Tallies } from './tallies.ts'

/** What the process counts about itself, for Prometheus. */
export class Metrics {
  readonly registry = new Registry()
  readonly #answers = new Tallies()

  constructor() {
    this.#answers.register(this.registry)
    collectDefaultMetrics({ register: this.registry })
  }

  /** Counts one answer. */
  count(operation: string, status: number, seconds: number): void {
    this.#answers.count(operation, status, seconds)
  }

  /** Reports a number that is read when somebody asks. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }
}

/** Serves the metrics at /metrics, on loopback only. */
export async function serveMetrics(metrics: Metrics, port: number): Promise<Server> {
  const server = createServer(async (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-type': metrics.registry.contentType })
    response.end(await metrics.registry.metrics())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  server.unref()
  return server
}
