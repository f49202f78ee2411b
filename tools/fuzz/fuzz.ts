import { setTimeout as sleep } from 'node:timers/promises'
import { type Case, MODES, type Mode } from './case.ts'
import { fill } from './data.ts'
import { makeCase } from './make-case.ts'
import { OPERATIONS } from './operations.ts'
import { assertAnswer } from './oracle.ts'
import { Report } from './report.ts'
import { plainRequest, write } from './request.ts'
import { ServiceProcess } from './service.ts'
import { askSlowly } from './slow.ts'
import { type Answer, Wire } from './wire.ts'
import type { World } from './world.ts'

export interface FuzzOptions {
  readonly databaseUrl: string
  readonly mode: Mode['name']
  readonly seed: number
  readonly requests: number
  /** Connections that are used at a time. */
  readonly connections?: number
  /** Connections on which a request begins and never ends: it takes a minute until they have their answers. */
  readonly slow?: number
  /** The one case to try. */
  readonly only?: number
}

/** An answer has to be there within this time, in milliseconds. */
const IN_TIME = 1000
/** Memory is looked at after each part of the requests. */
const PARTS = 5
/** Most that what the process holds may have grown by, in bytes: the system gets memory back late, or never. */
const MOST_GROWTH = { rss: 100 * 2 ** 20, heap: 16 * 2 ** 20, external: 16 * 2 ** 20, sockets: 10 }

/** So many show enough. */
const MOST_FAILURES = 50

const LIMITS: Readonly<Record<Mode['name'], Readonly<Record<string, string>>>> = {
  open: {
    RATE_LIMIT_OCCUPATIONS: 'off',
    RATE_LIMIT_RESULTS: 'off',
    RATE_LIMIT_ORGANISATION: 'off',
    RATE_LIMIT_SUBMISSIONS: 'off',
    RATE_LIMIT_FAILED_CREDENTIALS: 'off',
  },
  // Some are let through and some are not.
  limited: {
    RATE_LIMIT_OCCUPATIONS: '100/2',
    RATE_LIMIT_RESULTS: '50/2',
    RATE_LIMIT_SUBMISSIONS: '50/2',
    RATE_LIMIT_FAILED_CREDENTIALS: '20/2',
    OCCUPATIONS_ACCESS: 'public',
  },
}

/** Fills an empty database, starts a service on it and tries it; fails where the service can't be started. */
export async function fuzz(options: FuzzOptions): Promise<Report> {
  const data = await fill(options.databaseUrl)
  const service = await ServiceProcess.start(options.databaseUrl, LIMITS[options.mode])
  try {
    const world: World = { data, etags: await readEtags(service, data) }
    return await new Fuzzing(options, service, world).run()
  } finally {
    await service.stop()
  }
}

class Fuzzing {
  readonly #options: FuzzOptions
  readonly #service: ServiceProcess
  readonly #world: World
  readonly #mode: Mode
  readonly #report: Report
  #next = 0

  constructor(options: FuzzOptions, service: ServiceProcess, world: World) {
    this.#options = options
    this.#service = service
    this.#world = world
    this.#mode = MODES[options.mode]
    this.#report = new Report(options)
  }

  async run(): Promise<Report> {
    const { requests, only } = this.#options
    if (only !== undefined) {
      this.#next = only
      await this.#work(only + 1)
      await this.#judgeLife()
      return this.#report
    }
    const slow = askSlowly(this.#service.port, this.#options.slow ?? 0, this.#mode, this.#report)
    for (let part = 1; part <= PARTS; part++) {
      await this.#workUntil(Math.ceil((requests * part) / PARTS))
      if (part === PARTS) await slow
      this.#report.memory.push(await this.#settle())
    }
    this.#judgeMemory()
    await this.#askSlowOnesAgain()
    await this.#judgeLife()
    return this.#report
  }

  async #workUntil(end: number): Promise<void> {
    const connections = this.#options.connections ?? 16
    await Promise.all(Array.from({ length: connections }, () => this.#work(end)))
  }

  async #work(end: number): Promise<void> {
    let wire: Wire | undefined
    while (this.#next < end && this.#report.failures.length < MOST_FAILURES) {
      const index = this.#next++
      const { seed } = this.#options
      const each = makeCase(seed, index, this.#world, this.#mode)
      wire = await this.#try(each, index, wire)
    }
    wire?.destroy()
  }

  /** Tries a case, and answers the connection if it can go on being used. */
  async #try(each: Case, index: number, kept: Wire | undefined): Promise<Wire | undefined> {
    const answers: Answer[] = []
    const usable = kept !== undefined && !kept.isSpent ? kept : undefined
    let wire = usable
    try {
      if (kept?.isSpent)
        throw new Error(`the connection was spent after case ${kept.last}: ${kept.rest.slice(0, 300)}`)
      if (each.alone || wire === undefined) wire = await Wire.open(this.#service.port)
      wire.last = index
      const took = await exchange(each, wire, this.#mode, answers)
      this.#report.count(each, index, answers, took)
      if (took > IN_TIME) this.#report.slow.push(index)
      if (each.alone) {
        wire.destroy()
        return usable
      }
      if (answers.at(-1)?.headers.connection === 'close') {
        // Whoever did not understand the request does not know that it was HEAD.
        const refusedHead = each.expected?.at(-1)?.method === 'HEAD' && answers.at(-1)?.status !== 200
        await wire.ended({ mayHaveBody: refusedHead })
        wire.destroy()
        return undefined
      }
      return wire
    } catch (error) {
      if (wire !== usable) wire?.destroy()
      usable?.destroy()
      this.#report.fail(each, index, answers, `${(error as Error).message}`)
      if (!this.#service.isAlive) throw new Error(`the service died in case ${index}`)
      return undefined
    }
  }

  /** A machine with much else to do may keep an answer waiting once; the service must not. */
  async #askSlowOnesAgain(): Promise<void> {
    for (const index of this.#report.slow) {
      const each = makeCase(this.#options.seed, index, this.#world, this.#mode)
      const wire = await Wire.open(this.#service.port)
      const answers: Answer[] = []
      try {
        const took = await exchange(each, wire, this.#mode, answers)
        if (took > IN_TIME) this.#report.fail(each, index, answers, `takes ${Math.round(took)} ms, alone too`)
      } catch (error) {
        this.#report.fail(each, index, answers, `asked again: ${(error as Error).message}`)
      } finally {
        wire.destroy()
      }
    }
  }

  /** Connections are closed and what was kept for a while is let go of. */
  async #settle() {
    await sleep(300)
    return await this.#service.holding()
  }

  #judgeMemory(): void {
    // The first part fills what is kept, such as pages and compiled code.
    const [before, after] = [this.#report.memory[1], this.#report.memory.at(-1)]
    if (before === undefined || after === undefined) return
    for (const [part, most] of Object.entries(MOST_GROWTH) as [keyof typeof MOST_GROWTH, number][]) {
      const growth = after[part] - before[part]
      if (growth > most) this.#report.blame(`${part} has grown by ${growth} since the second part`)
    }
  }

  async #judgeLife(): Promise<void> {
    if (!this.#service.isAlive) this.#report.blame('the service is dead')
    const ready = await fetch(`http://127.0.0.1:${this.#service.port}/readyz`)
    if (ready.status !== 200) this.#report.blame(`/readyz is ${ready.status}`)
    for (const line of this.#service.complaints.slice(0, 5)) this.#report.blame(`the log says ${line}`)
  }
}

/** Sends what a case sends and judges what comes back; answers how long the last answer took, in milliseconds. */
async function exchange(each: Case, wire: Wire, mode: Mode, answers: Answer[]): Promise<number> {
  for (const step of each.steps) {
    if ('send' in step) void wire.send(step.send)
    else if ('pause' in step) await sleep(step.pause)
    else if (step.close === 'half') wire.end()
    else {
      wire.destroy({ abruptly: true })
      return 0
    }
  }
  const begun = performance.now()
  for (let place = 0; each.expected === undefined || place < each.expected.length; place++) {
    const expected = each.expected?.[place]
    const read = async () => {
      const answer = await wire.read(expected?.method === 'HEAD')
      if (answer !== undefined) answers.push(answer)
      return answer
    }
    let answer = await read()
    if (answer?.status === 100 && expected?.continues === true) answer = await read()
    if (answer === undefined && expected === undefined) break
    if (answer === undefined) throw new Error('the connection ended without an answer')
    assertAnswer(answer, expected, mode)
  }
  if (each.ends === true) await wire.ended()
  return performance.now() - begun
}

async function readEtags(service: ServiceProcess, data: World['data']): Promise<World['etags']> {
  const etags = new Map<string, string>()
  for (const operation of OPERATIONS) {
    const wire = await Wire.open(service.port)
    await wire.send(write(plainRequest(operation, data)))
    const answer = await wire.read(false)
    wire.destroy()
    if (answer?.headers.etag === undefined) throw new Error(`${operation.id} has no ETag`)
    etags.set(operation.id, answer.headers.etag)
  }
  return etags
}
