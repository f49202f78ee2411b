import { Counter, type Histogram, type Registry } from 'prom-client'
import type { Outcome } from './deliveries.ts'

/** Upper bounds of the buckets of durations, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Outcomes of responses that were not sent completely. */
const INCOMPLETE = ['left', 'cut-off'] as const

/**
 * Counts responses and their durations by operation and status. prom-client looks up labels at every observation,
 * which takes longer than finding a page, so it gets the totals only when it is scraped.
 */
export class Tallies {
  readonly #tallies = new Map<string, Tally>()

  /**
   * Starts the series of an operation at 0. Prometheus needs two samples to see an increase, so it would miss the
   * first response of a series that starts at 1.
   */
  expect(operation: string, statuses: readonly number[]): void {
    this.#find(operation).expect(statuses)
  }

  count(operation: string, status: number, seconds: number, outcome: Outcome, bytes: number): void {
    this.#find(operation).count(status, seconds, outcome, bytes)
  }

  /** Makes the totals available to a registry. */
  register(registry: Registry): void {
    const tallies = this.#tallies
    new Counter({
      name: 'mahi_http_requests_total',
      help: 'Requests answered.',
      labelNames: ['operation', 'status'] as const,
      registers: [registry],
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
      registers: [registry],
      collect() {
        this.reset()
        for (const [operation, { incomplete }] of tallies)
          for (const outcome of INCOMPLETE) this.inc({ operation, outcome }, incomplete[outcome])
      },
    })
    new Counter({
      name: 'mahi_http_response_bytes_total',
      help: 'Bytes of response bodies that were sent, as compressed.',
      labelNames: ['operation'] as const,
      registers: [registry],
      collect() {
        this.reset()
        for (const [operation, { bytes }] of tallies) this.inc({ operation }, bytes)
      },
    })
    // A prom-client histogram accepts only single observations; a registry needs no more of a metric than this.
    const durations = {
      name: 'mahi_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its response.',
      type: 'histogram',
    }
    const get = async () => ({
      ...durations,
      values: [...tallies].flatMap(([operation, tally]) => tally.describe(durations.name, operation)),
    })
    registry.registerMetric({ ...durations, get } as unknown as Histogram<string>)
  }

  #find(operation: string): Tally {
    let tally = this.#tallies.get(operation)
    if (tally === undefined) {
      tally = new Tally()
      this.#tallies.set(operation, tally)
    }
    return tally
  }
}

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
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.bytes += bytes
    if (outcome !== 'sent') this.incomplete[outcome]++
    this.#seconds += seconds
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound)
    if (bucket !== -1) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
  }

  /** In the Prometheus format: each bucket includes the smaller ones. */
  describe(name: string, operation: string) {
    const total = this.statuses.values().reduce((sum, count) => sum + count, 0)
    let below = 0
    const buckets = BOUNDS.map((bound, index) => {
      below += this.#buckets[index] ?? 0
      return { metricName: `${name}_bucket`, labels: { le: bound, operation }, value: below }
    })
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: '+Inf', operation }, value: total },
      { metricName: `${name}_sum`, labels: { operation }, value: this.#seconds },
      { metricName: `${name}_count`, labels: { operation }, value: total },
    ]
  }
}
