import { createServer, type Server } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import { increment } from '../../foundation/increment.ts'

/**
 * How a response ended. `sent`: the operating system accepted all of it. `left`: the client closed the connection
 * first. `cut-off`: the service did, for example because the client stopped reading.
 */
export type Outcome = 'sent' | 'left' | 'cut-off'

/** A number, `undefined` if unknown, or a number for each value of a label. */
type Value = number | undefined | Readonly<Record<string, number>>

/** Observations that were counted elsewhere. */
interface Observations {
  readonly total: number
  /** The sum of their values. */
  readonly seconds: number
  /** The number of those up to each bound, ascending. */
  readonly upTo: readonly (readonly [bound: number, total: number])[]
}

/** Read at each scrape. */
type Read = () => Value | Promise<Value>

/** A metric that a part of the service reports: one whose name ends in `_total` only grows. */
export interface Measurement {
  readonly name: string
  readonly help: string
  readonly read: Read
  /** The label whose values `read` returns. */
  readonly label?: string
}

/** The metrics of the process, for Prometheus. */
export class Metrics {
  readonly registry = new Registry()
  /** The responses by operation. */
  readonly #tallies = new Map<string, Tally>()

  constructor() {
    this.#reportResponses()
    collectDefaultMetrics({ register: this.registry })
  }

  /** Counts one response. */
  count(operation: string, status: number, seconds: number, outcome: Outcome = 'sent', bytes = 0): void {
    this.#find(operation).count(status, seconds, outcome, bytes)
  }

  /**
   * Begins the series of an operation at 0, for the statuses that it can have. Prometheus needs two samples to see an
   * increase, so it would miss the first response of a series that starts at 1.
   */
  expect(operation: string, statuses: readonly number[]): void {
    this.#find(operation).expect(statuses)
  }

  /**
   * Reports a number that can rise and fall.
   *
   * @param label the label whose values `read` returns
   */
  gauge(name: string, help: string, read: Read, label?: string): void {
    new Gauge({
      ...this.#describe(name, help, label),
      async collect() {
        const value = await tryRead(read)
        // Synchronously, so that no concurrent scrape finds the series missing.
        this.reset()
        for (const [labels, number] of series(value, label)) this.set(labels, number)
      },
    })
  }

  /** Reports what a part of the service measures. */
  report(measurements: readonly Measurement[]): void {
    for (const { name, help, read, label } of measurements)
      if (name.endsWith('_total')) this.counter(name, help, read, label)
      else this.gauge(name, help, read, label)
  }

  /** Reports constant facts as labels of a series whose value is 1. */
  info(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    new Gauge({ name, help, labelNames: Object.keys(labels), registers: [this.registry] }).set(labels, 1)
  }

  /** Reports durations that were counted elsewhere, by the values of a label. */
  histogram(
    name: string,
    help: string,
    read: () => Promise<Readonly<Record<string, Observations>>>,
    label: string,
  ): void {
    const described = { name, help, type: 'histogram' }
    const get = async () => ({
      ...described,
      // Like `tryRead`: none is better than hiding all others.
      values: Object.entries(
        await read().catch(() => ({}) as Readonly<Record<string, Observations>>),
      ).flatMap(([value, { total, seconds, upTo }]) => {
        const labels = { [label]: value }
        const bucket = (le: number | string, count: number) => ({
          metricName: `${name}_bucket`,
          labels: { le, ...labels },
          value: count,
        })
        return [
          ...upTo.map(([bound, count]) => bucket(bound, count)),
          bucket('+Inf', total),
          { metricName: `${name}_sum`, labels, value: seconds },
          { metricName: `${name}_count`, labels, value: total },
        ]
      }),
    })
    // A prom-client histogram accepts only single observations; a registry needs no more of a metric than this.
    this.registry.registerMetric({ ...described, get } as unknown as Histogram<string>)
  }

  /** Reports a number that only grows; its name ends in `_total`. */
  counter(name: string, help: string, read: Read, label?: string): void {
    new Counter({
      ...this.#describe(name, help, label),
      async collect() {
        const value = await tryRead(read)
        // A counter never falls: while it cannot be read, it stays as it was.
        if (value === undefined) return
        this.reset()
        for (const [labels, number] of series(value, label)) this.inc(labels, number)
      },
    })
  }

  #describe(name: string, help: string, label: string | undefined) {
    return { name, help, labelNames: label === undefined ? [] : [label], registers: [this.registry] }
  }

  #find(operation: string): Tally {
    let tally = this.#tallies.get(operation)
    if (tally === undefined) {
      tally = new Tally()
      this.#tallies.set(operation, tally)
    }
    return tally
  }

  #reportResponses(): void {
    const tallies = this.#tallies
    new Counter({
      name: 'mahi_http_requests_total',
      help: 'Requests answered.',
      labelNames: ['operation', 'status'] as const,
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [operation, { statuses }] of tallies)
          for (const [status, count] of statuses) this.inc({ operation, status }, count)
      },
    })
    new Counter({
      name: 'mahi_http_responses_incomplete_total',
      help: 'Responses that clients did not receive completely because they left or were cut off.',
      labelNames: ['operation', 'outcome'] as const,
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [operation, { incomplete }] of tallies)
          for (const outcome of INCOMPLETE) this.inc({ operation, outcome }, incomplete[outcome])
      },
    })
    const ofEach = <T>(read: (tally: Tally) => T): Record<string, T> =>
      Object.fromEntries([...tallies].map(([operation, tally]) => [operation, read(tally)]))
    this.counter(
      'mahi_http_response_bytes_total',
      'Bytes of response bodies that were sent, as compressed.',
      () => ofEach(({ bytes }) => bytes),
      'operation',
    )
    this.histogram(
      'mahi_http_request_duration_seconds',
      'From the arrival of a request to the end of its response.',
      async () => ofEach(({ durations }) => durations),
      'operation',
    )
  }
}

/** One metric that cannot be read, such as while the database is away, must not hide the others. */
async function tryRead(read: Read): Promise<Value> {
  try {
    return await read()
  } catch {
    return undefined
  }
}

function series(read: Value, label: string | undefined): [Record<string, string>, number][] {
  if (read === undefined) return [[{}, Number.NaN]]
  if (typeof read === 'number') return [[{}, read]]
  return Object.entries(read).map(([value, number]) => [{ [label ?? 'name']: value }, number])
}

/** Serves the metrics at /metrics, with any query. */
export async function serveMetrics(metrics: Metrics, port: number, host = '127.0.0.1'): Promise<Server> {
  const server = createServer(async (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    if (request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    // A metric that is no number must not end the process.
    const text = await metrics.registry.metrics().catch(() => undefined)
    response.writeHead(text === undefined ? 500 : 200, { 'content-type': metrics.registry.contentType })
    response.end(text)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  server.unref()
  return server
}

/** Upper bounds of the buckets of durations, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Outcomes of responses that were not sent completely. */
const INCOMPLETE = ['left', 'cut-off'] as const

/**
 * The responses of an operation. prom-client looks up labels at every observation, which takes longer than finding a
 * page, so it gets the totals only when it is scraped.
 */
class Tally {
  readonly statuses = new Map<number, number>()
  readonly incomplete = { left: 0, 'cut-off': 0 }
  bytes = 0
  /** Observations in each bucket, excluding those in smaller ones. */
  readonly #buckets = BOUNDS.map(() => 0)
  #seconds = 0

  expect(statuses: readonly number[]): void {
    for (const status of statuses) this.statuses.set(status, this.statuses.get(status) ?? 0)
  }

  count(status: number, seconds: number, outcome: Outcome, bytes: number): void {
    increment(this.statuses, status)
    this.bytes += bytes
    if (outcome !== 'sent') this.incomplete[outcome]++
    this.#seconds += seconds
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound)
    if (bucket !== -1) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
  }

  get durations(): Observations {
    let below = 0
    const upTo = BOUNDS.map((bound, index) => {
      below += this.#buckets[index] ?? 0
      return [bound, below] as const
    })
    const total = this.statuses.values().reduce((sum, count) => sum + count, 0)
    return { total, seconds: this.#seconds, upTo }
  }
}
