// A return day: every organisation sends its return and a corrected one, while a worker and the primary are killed.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, MahiError, type ValidationRun } from '../../../client/src/index.ts'
import { Random } from '../../../test/support/random.ts'
import { FILES } from '../../../test/support/sdr/columns.ts'
import { codeOf, prepareDatabase } from '../../mahi.ts'
import { Place } from '../../submissions/place.ts'
import { processorTime } from '../processor-time.ts'
import { Readers, type Reads } from './readers.ts'
import type { Organisation } from './returns.ts'
import { type Failover, Servers } from './servers.ts'

/** Organisations that upload at a time; the others have not begun, or wait for their runs. */
const UPLOADS = 8
const RECORDS = 1_000
/** Milliseconds between two reads. */
const READ_INTERVAL = 20
/** Shares of the runs that have ended when the worker and the primary are killed. */
const KILLS = { worker: 0.25, primary: 0.6 } as const

/** A run of a return, in milliseconds since 1970. */
export interface TimedRun {
  readonly enrolments: number
  readonly received: number
  readonly started: number
  readonly completed: number
}

export interface Day {
  readonly organisations: readonly Organisation[]
  /** From the first upload to the last page of findings, in seconds. */
  readonly seconds: number
  readonly runs: readonly TimedRun[]
  readonly reads: Reads
  /** Requests of organisations that were sent again, because the service or its database was busy or gone. */
  readonly repeated: number
  /** Processor time, in seconds. */
  readonly used: { readonly server: number; readonly workers: number; readonly databases: number }
  /** Seconds from the kill of a worker until its run was claimed again, and had ended. */
  readonly worker: { readonly claimed: number; readonly ended: number }
  readonly primary: Failover & {
    /** When it was killed, and when the service was ready again, in milliseconds since 1970. */
    readonly killed: number
    readonly ready: number
    /** Seconds until the next run had ended. */
    readonly ended: number
  }
  /** Bytes. */
  readonly size: {
    readonly database: number
    readonly files: number
    readonly findings: number
    /** Of the write-ahead log that was written. */
    readonly log: number
  }
  /** What was not as it was sent. */
  readonly wrong: readonly string[]
}

export async function runDay(organisations: readonly Organisation[]): Promise<Day> {
  const servers = await Servers.start()
  try {
    const { urls } = servers
    await prepareDatabase(urls.DATABASE_URL, { records: RECORDS })
    const place = await Place.start(urls.DATABASE_URL, organisations.length, urls)
    try {
      await place.startWorkers(2)
      return await new RunningDay(servers, place, organisations).run()
    } finally {
      await place.stop()
    }
  } finally {
    await servers.remove()
  }
}

class RunningDay {
  readonly #servers: Servers
  readonly #place: Place
  readonly #organisations: readonly Organisation[]
  readonly #runs: TimedRun[] = []
  readonly #wrong: string[] = []
  readonly #tokens = new Map<string, string>()
  readonly #waiting: (() => void)[] = []
  #uploading = 0
  #repeated = 0
  /** Processor time of a worker that was killed. */
  #lost = 0

  constructor(servers: Servers, place: Place, organisations: readonly Organisation[]) {
    this.#servers = servers
    this.#place = place
    this.#organisations = organisations
  }

  async run(): Promise<Day> {
    const { server, url: _, key } = this.#place
    const cursors = Array.from({ length: RECORDS - 100 }, (_, index) => codeOf(index))
    const readers = new Readers({ url: server.url, key, interval: READ_INTERVAL, cursors })
    const before = await this.#measure()
    const begun = performance.now()
    const order = new Random(28).shuffle(this.#organisations)
    const sending = Promise.all(order.map((each) => this.#send(each, readers)))
    const worker = await Promise.race([this.#killWorker(), sending.then(() => undefined)])
    const primary = await Promise.race([this.#killPrimary(), sending.then(() => undefined)])
    await sending
    const seconds = (performance.now() - begun) / 1000
    if (worker === undefined || primary === undefined) throw new Error('the day ended before the kills')
    const after = await this.#measure()
    const reads = await readers.stop()
    const used = {
      server: after.server - before.server,
      workers: after.workers - before.workers,
      databases: after.databases - before.databases,
    }
    const size = { ...(await this.#sizes()), log: after.log - before.log }
    await this.#compare()
    const wrong = [...this.#wrong, ...reads.wrong]
    const organisations = this.#organisations
    return {
      organisations,
      seconds,
      runs: this.#runs,
      reads,
      repeated: this.#repeated,
      used,
      worker,
      primary,
      size,
      wrong,
    }
  }

  async #send({ eid, enrolments, returns }: Organisation, readers: Readers): Promise<void> {
    const client = this.#clientOf(eid)
    for (const [index, { faults, file }] of returns.entries()) {
      await this.#takeTurn()
      const { submissionToken: token = '' } = await client.submissions.create({ returnId: '202512' })
      for (const name of FILES) await client.submissions.putFile(token, name, new Uint8Array(file(name)))
      const { runId = 0 } = await client.submissions.validate(token)
      this.#giveTurn()
      const run = await waitForRun(client, token, runId)
      this.#note(eid, enrolments, run)
      if (index === 0) readers.add({ eid, token, totals: returns.map((each) => each.faults) })
      this.#tokens.set(eid, token)
      let found = 0
      for await (const _ of client.validationResults.all(token, { pageSize: 1000 })) found++
      if (found !== faults)
        this.#wrong.push(`${eid} has ${found} findings of return ${index + 1}, not ${faults}`)
    }
  }

  #note(eid: string, enrolments: number, run: ValidationRun): void {
    const time = (date: string | undefined) => Date.parse(date ?? '')
    if (run.status !== 'Processed') this.#wrong.push(`a run of ${eid} ended as ${run.status}: ${run.reason}`)
    this.#runs.push({
      enrolments,
      received: time(run.dateReceived),
      started: time(run.dateStarted),
      completed: time(run.dateCompleted),
    })
  }

  async #takeTurn(): Promise<void> {
    if (this.#uploading < UPLOADS) this.#uploading++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #giveTurn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#uploading--
    else next()
  }

  #clientOf(eid: string): Client {
    const { server, key } = this.#place
    return createClient({
      baseUrl: server.url,
      apiKey: key,
      eid,
      deadline: 3_600_000,
      cachedPages: 0,
      onRetry: () => this.#repeated++,
    })
  }

  /** Waits until so large a share of the runs has ended. */
  async #untilEnded(share: number): Promise<void> {
    while (this.#runs.length < share * 2 * this.#organisations.length) await sleep(20)
  }

  async #killWorker(): Promise<Day['worker']> {
    await this.#untilEnded(KILLS.worker)
    const claimed = async () =>
      await this.#servers.query<{ subject: string; attempts: number }>(
        `select subject, attempts from job where kind = 'run' and worker is not null`,
      )
    // Both workers are busy, so the one that is killed has a run.
    let held = await claimed()
    while (held.length < 2) {
      await sleep(5)
      held = await claimed()
    }
    const [worker = 0] = this.#place.workers
    this.#lost += processorTime(worker, true)
    const begun = performance.now()
    const since = () => (performance.now() - begun) / 1000
    const replaced = this.#place.replaceWorker()
    // One more attempt than before: on a busy machine, a claim may have expired earlier.
    const again = async () =>
      (await claimed()).find(({ subject, attempts }) =>
        held.some((each) => each.subject === subject && each.attempts < attempts),
      )
    let taken = await again()
    while (taken === undefined) {
      await sleep(50)
      taken = await again()
    }
    const claimedAgain = since()
    while ((await again())?.subject === taken.subject) await sleep(20)
    await replaced
    return { claimed: claimedAgain, ended: since() }
  }

  async #killPrimary(): Promise<Day['primary']> {
    await this.#untilEnded(KILLS.primary)
    const killed = Date.now()
    const failingOver = this.#servers.failOver()
    let lost = false
    for (;;) {
      const { status } = await fetch(`${this.#place.server.url}/readyz`)
      if (status !== 200) lost = true
      else if (lost) break
      await sleep(20)
    }
    const ready = Date.now()
    while (!this.#runs.some(({ completed }) => completed > ready)) await sleep(20)
    const ended =
      (Math.min(...this.#runs.map(({ completed }) => completed).filter((at) => at > ready)) - killed) / 1000
    return { ...(await failingOver), killed, ready, ended }
  }

  async #measure() {
    const [row] = await this.#servers.query<{ bytes: string }>(
      `select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`,
    )
    return {
      server: processorTime(this.#place.server.pid),
      workers: this.#place.workers.reduce((sum, pid) => sum + processorTime(pid, true), this.#lost),
      databases: await this.#servers.processorTime(),
      log: Number(row?.bytes),
    }
  }

  async #sizes() {
    const [row] = await this.#servers.query<Record<'database' | 'files' | 'findings', string>>(
      `select pg_database_size(current_database()) as database,
         pg_total_relation_size('file_chunk') as files, pg_total_relation_size('result_block') as findings`,
    )
    return {
      database: Number(row?.database),
      files: Number(row?.files),
      findings: Number(row?.findings),
    }
  }

  /** Compares what is stored of every organisation with what it sent. */
  async #compare(): Promise<void> {
    for (const { eid, returns } of this.#organisations) {
      const client = this.#clientOf(eid)
      const token = this.#tokens.get(eid) ?? ''
      const [, { faults, records }] = returns
      const { files = [] } = await client.submissions.get(token)
      const stored = files.reduce((sum, each) => sum + (each.records ?? 0), 0)
      if (stored !== records) this.#wrong.push(`${eid} has ${stored} records, not ${records}`)
      const { results: runs = [] } = await client.submissions.runs(token)
      const counts = runs
        .map((run) => (run.errorCount ?? 0) + (run.warningCount ?? 0))
        .sort((one, other) => other - one)
      const expected = returns.map((each) => each.faults)
      if (String(counts) !== String(expected))
        this.#wrong.push(`the runs of ${eid} have ${counts} findings, not ${expected}`)
      const { totalCount } = await client.validationResults.page(token, { pageSize: 1 })
      if (totalCount !== faults) this.#wrong.push(`${eid} has ${totalCount} findings, not ${faults}`)
    }
  }
}

/** Waits until a run has ended, also while the service turns requests away for longer than the client tries again. */
async function waitForRun(client: Client, token: string, runId: number): Promise<ValidationRun> {
  for (;;) {
    try {
      return await client.submissions.waitForRun(token, runId)
    } catch (error) {
      if (!(error instanceof MahiError && error.kind === 'deadline')) throw error
    }
  }
}
