import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** Whoever is not answered for so long hangs, in milliseconds. */
const HANGING = 240_000

/** Pause of a caller that was turned away or that found nobody, in milliseconds. */
const PAUSE = 20

/** Longest wait for a load to get somewhere, in milliseconds. */
const DEADLINE = 60_000

export interface Question {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** What became of the requests: each is counted once, however often its caller had to turn to another server. */
export interface Counts {
  sent: number
  /** Answered 200, whole. */
  ok: number
  /** Answered 503 with Retry-After. */
  unavailable: number
  /** Everything else: other answers, broken ones, none. */
  readonly otherwise: string[]
  /** Requests that were asked again of another server, because the first was gone. */
  retried: number
}

export interface LoadOptions {
  readonly callers?: number
  /** Fails if a body is not what the question should be answered with. */
  readonly check?: (body: string, question: Question) => void
}

/** Callers that ask one question after the other, each on a connection that it keeps. */
export class Load {
  readonly counts: Counts = { sent: 0, ok: 0, unavailable: 0, otherwise: [], retried: 0 }
  readonly #urls: readonly string[]
  readonly #check: LoadOptions['check']
  readonly #callers: readonly Promise<void>[]
  #stopping = false

  /** @param urls servers that answer alike: who loses one turns to the next */
  constructor(urls: readonly string[], questions: readonly Question[], options: LoadOptions = {}) {
    this.#urls = urls
    this.#check = options.check
    this.#callers = Array.from({ length: options.callers ?? 16 }, (_, index) => this.#call(questions, index))
    onTestFinished(async () => {
      await this.stop()
    })
  }

  /** Waits until the counts are as they should be. */
  async until(reached: (counts: Counts) => boolean): Promise<void> {
    const deadline = Date.now() + DEADLINE
    while (!reached(this.counts)) {
      if (Date.now() > deadline)
        throw new Error(`the load does not get there: ${JSON.stringify(this.counts)}`)
      await sleep(PAUSE)
    }
  }

  /** Waits until so many more have been answered in a way. */
  async untilMore(way: 'ok' | 'unavailable', count: number): Promise<void> {
    const before = this.counts[way]
    await this.until((counts) => counts[way] >= before + count)
  }

  /** Lets what has been sent be answered. */
  async stop(): Promise<Counts> {
    this.#stopping = true
    await Promise.all(this.#callers)
    return this.counts
  }

  async #call(questions: readonly Question[], first: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let server = first
    for (let index = first; !this.#stopping; index++) {
      const question = questions[index % questions.length]
      if (question === undefined) throw new Error('a load needs a question')
      this.counts.sent++
      server = await this.#ask(question, agent, server)
    }
    agent.destroy()
  }

  /** Asks a server, or where it is gone the next; answers which it was. */
  async #ask(question: Question, agent: Agent, first: number): Promise<number> {
    for (let server = first; ; server++) {
      try {
        const url = this.#urls[server % this.#urls.length] ?? ''
        await this.#count(await ask(url + question.path, question.headers, agent), question)
        return server
      } catch (error) {
        if (server - first >= 2 * this.#urls.length || this.#urls.length === 1) {
          this.counts.otherwise.push(`${question.path}: ${error}`)
          return server
        }
        if (server === first) this.counts.retried++
        await sleep(PAUSE)
      }
    }
  }

  async #count({ status, headers, body }: Answer, question: Question): Promise<void> {
    if (status === 503 && Number(headers['retry-after']) >= 1) {
      this.counts.unavailable++
      await sleep(PAUSE)
      return
    }
    try {
      if (status !== 200) throw new Error(`${status} ${body}`)
      this.#check?.(body, question)
      this.counts.ok++
    } catch (error) {
      this.counts.otherwise.push(`${question.path}: ${error}`)
    }
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Asks once. Fails where no whole answer comes. */
export async function ask(url: string, headers: Question['headers'] = {}, agent?: Agent): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const request = get(url, { headers: { ...headers }, ...(agent && { agent }) }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      )
    })
    request.once('error', reject)
    request.setTimeout(HANGING, () => request.destroy(new Error('there is no answer')))
  })
}
