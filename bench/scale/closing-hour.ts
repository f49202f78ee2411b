import { exponential, logNormal, quantile, type Random, seeded } from './random.ts'

/** Seconds of work, as measured. */
export interface ServiceTimes {
  /** To start the command that publishes, before it has anything to do with the database. */
  readonly start: number
  /** A publish takes so long, and so long more for each entry. */
  readonly publish: number
  readonly publishEntry: number
  /** A poll that finds nothing new: 304. */
  readonly poll: number
  /** A page of 1,000 entries that is read from the database. */
  readonly page: number
}

export interface ClosingHourOptions {
  readonly seed: number
  readonly times: ServiceTimes
  /** Submissions in the hour, corrected ones included. */
  readonly submissions: number
  /** Cores on which commands start. */
  readonly cores: number
  /** Publishes that can be made at a time: 1 with SQLite, which has one writer. */
  readonly publishers: number
  /** Processes that answer reads. */
  readonly processes: number
}

/** Of a station: what it was given to do, and how long that waited for its turn, in seconds. */
export interface StationReport {
  readonly jobs: number
  /** Of its servers' time in the busiest five minutes. */
  readonly utilisation: number
  readonly wait: { readonly median: number; readonly p99: number; readonly longest: number }
  /** The most that waited at once. */
  readonly backlog: number
}

export interface ClosingHourReport {
  readonly starts: StationReport
  readonly publishes: StationReport
  readonly reads: StationReport
  readonly readsPerSecond: { readonly mean: number; readonly busiest: number }
  /** Seconds from a submission's validation to the moment at which its reader has the last page. */
  readonly untilRead: { readonly median: number; readonly p99: number; readonly longest: number }
  /** Seconds after the close of the hour at which the last page was read. */
  readonly drained: number
}

const HOUR = 3600
/** Arrivals grow by the factor e in so many seconds: four in ten come in the last ten minutes. */
const GROWTH = 1200
/** A validation, which is not Mahi's work, takes so long on average. */
const VALIDATION = 60
/** A reader that waits for results asks so often, in seconds after each answer. */
const POLL_EVERY = 10
const ENTRIES_A_PAGE = 1000
/** Entries of a submission: half have fewer than the first figure, one in a hundred more than 6,500. */
const ENTRIES = { middle: 200, sigma: 1.5, most: 200_000 }
const BUSIEST = 300

/**
 * The last hour of a return. A submission is validated, elsewhere, and its results are published; its reader has
 * polled since it was sent in, and then reads every page. Each kind of work waits
 * in a queue of its own for a free server: that all of them take from the same cores is not in it.
 */
export function simulateClosingHour(options: ClosingHourOptions): ClosingHourReport {
  const random = seeded(options.seed)
  const { times } = options
  const events = new Events()
  const starting = new Station(options.cores, events)
  const publishing = new Station(options.publishers, events)
  const reading = new Station(options.processes, events)
  const untilRead: number[] = []
  let last = 0

  for (let index = 0; index < options.submissions; index++) {
    const sent = drawArrival(random)
    const validated = sent + exponential(random, VALIDATION)
    const entries = Math.min(ENTRIES.most, Math.round(logNormal(random, ENTRIES.middle, ENTRIES.sigma)))
    let published = Number.POSITIVE_INFINITY
    events.at(validated, () =>
      starting.take(times.start, () =>
        publishing.take(times.publish + entries * times.publishEntry, (now) => {
          published = now
        }),
      ),
    )
    const readPage = (left: number) =>
      reading.take(times.page, (now) => {
        if (left > 1) return readPage(left - 1)
        untilRead.push(now - validated)
        last = Math.max(last, now)
      })
    const poll = () => {
      // What is published by the time a poll is answered is what it shows.
      reading.take(times.poll, (now) => {
        if (now >= published) readPage(Math.max(1, Math.ceil(entries / ENTRIES_A_PAGE)))
        else events.at(now + POLL_EVERY, poll)
      })
    }
    events.at(sent + random() * POLL_EVERY, poll)
  }
  events.run()
  return {
    starts: starting.report(),
    publishes: publishing.report(),
    reads: reading.report(),
    readsPerSecond: { mean: reading.starts.length / HOUR, busiest: busiest(reading.starts) / BUSIEST },
    untilRead: summarise(untilRead),
    drained: last - HOUR,
  }
}

/** A time within the hour, with a density that grows exponentially towards its end. */
function drawArrival(random: Random): number {
  const span = Math.exp(HOUR / GROWTH) - 1
  return GROWTH * Math.log(1 + random() * span)
}

/** What is to happen, in the order of time: a binary heap. */
class Events {
  now = 0
  readonly #heap: { at: number; run: () => void }[] = []

  at(at: number, run: () => void): void {
    const heap = this.#heap
    let index = heap.push({ at, run }) - 1
    for (let parent = (index - 1) >> 1; index > 0 && at < time(heap[parent]); parent = (index - 1) >> 1) {
      swap(heap, index, parent)
      index = parent
    }
  }

  run(): void {
    for (let event = this.#take(); event !== undefined; event = this.#take()) {
      this.now = event.at
      event.run()
    }
  }

  #take(): { at: number; run: () => void } | undefined {
    const heap = this.#heap
    const first = heap[0]
    const moved = heap.pop()
    if (moved === undefined || first === undefined || heap.length === 0) return first
    heap[0] = moved
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      const least = time(heap[right]) < time(heap[left]) ? right : left
      if (time(heap[least]) >= moved.at) return first
      swap(heap, index, least)
      index = least
    }
  }
}

function time(event: { at: number } | undefined): number {
  return event?.at ?? Number.POSITIVE_INFINITY
}

function swap<T>(items: T[], one: number, other: number): void {
  const [first, second] = [items[one], items[other]]
  if (first === undefined || second === undefined) throw new Error('no such items')
  items[one] = second
  items[other] = first
}

/** Servers with one queue: who came first is served first. */
class Station {
  readonly starts: number[] = []
  readonly #servers: number
  readonly #events: Events
  readonly #queue: { since: number; work: number; done: (now: number) => void }[] = []
  #head = 0
  #busy = 0
  #backlog = 0
  readonly #waits: number[] = []
  readonly #works: { at: number; work: number }[] = []

  constructor(servers: number, events: Events) {
    this.#servers = servers
    this.#events = events
  }

  take(work: number, done: (now: number) => void): void {
    this.#queue.push({ since: this.#events.now, work, done })
    this.#serve()
    this.#backlog = Math.max(this.#backlog, this.#queue.length - this.#head)
  }

  report(): StationReport {
    const slots = new Map<number, number>()
    for (const { at, work } of this.#works) {
      // A long job belongs to every slot that it lasts into.
      for (let from = at; from < at + work; ) {
        const slot = Math.floor(from / BUSIEST)
        const until = Math.min(at + work, (slot + 1) * BUSIEST)
        slots.set(slot, (slots.get(slot) ?? 0) + until - from)
        from = until
      }
    }
    return {
      jobs: this.#works.length,
      utilisation: Math.max(0, ...slots.values()) / (BUSIEST * this.#servers),
      wait: summarise(this.#waits),
      backlog: this.#backlog,
    }
  }

  #serve(): void {
    if (this.#busy === this.#servers) return
    const next = this.#queue[this.#head]
    if (next === undefined) return
    this.#head++
    if (this.#head === 10_000) {
      this.#queue.splice(0, this.#head)
      this.#head = 0
    }
    this.#busy++
    const { now } = this.#events
    this.starts.push(now)
    this.#waits.push(now - next.since)
    this.#works.push({ at: now, work: next.work })
    this.#events.at(now + next.work, () => {
      this.#busy--
      next.done(this.#events.now)
      this.#serve()
    })
  }
}

/** The most starts within a stretch of `BUSIEST` seconds that begins at a multiple of it. */
function busiest(starts: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const start of starts) {
    const slot = Math.floor(start / BUSIEST)
    counts.set(slot, (counts.get(slot) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}

function summarise(values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), longest: sorted.at(-1) ?? 0 }
}

/** The most submissions in the hour, to a twentieth, of which 99 % are read in full within so many seconds. */
export function findMostSubmissions(
  options: Omit<ClosingHourOptions, 'submissions'>,
  seconds: number,
): number {
  const fits = (submissions: number) =>
    simulateClosingHour({ ...options, submissions }).untilRead.p99 < seconds
  let [low, high] = [500, 1000]
  while (fits(high)) [low, high] = [high, high * 2]
  while (high - low > low / 20) {
    const middle = Math.round((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}
