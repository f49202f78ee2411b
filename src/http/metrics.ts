import { createServer, type Server } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What the process counts about itself, for Prometheus. */
export class Metrics {
  readonly registry = new Registry()
  readonly #requests = new Counter({
    name: 'mahi_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['operation', 'status'] as const,
    registers: [this.registry],
  })
  readonly #durations = new Histogram({
    name: 'mahi_http_request_duration_seconds',
    help: 'From the arrival of a request to the end of its answer.',
    labelNames: ['operation'] as const,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [this.registry],
  })
  readonly #children = new Map<string, { count(): void; observe(seconds: number): void }>()

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  /** Counts one answer. */
  count(operation: string, status: number, seconds: number): void {
    const key = `${operation} ${status}`
    let child = this.#children.get(key)
    if (child === undefined) {
      // Looking the labels up anew at each request costs more than counting.
      const counter = this.#requests.labels(operation, String(status))
      const histogram = this.#durations.labels(operation)
      child = { count: () => counter.inc(), observe: (value) => histogram.observe(value) }
      this.#children.set(key, child)
    }
    child.count()
    child.observe(seconds)
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
