import type { ServerResponse } from 'node:http'
import { pipeline, Readable, Transform } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Delegations } from '../api/access/delegation.ts'
import type { Principal } from '../api/access/principal.ts'
import { link, type Query } from './links.ts'

/** The problem body of a response (RFC 9457), as far as pages display it. */
export interface ProblemShown {
  /** `/problems/` and its slug. */
  readonly type?: string
  readonly status: number
  readonly title: string
  readonly detail: string
  /** What is wrong with each value, by its name. */
  readonly errors?: Readonly<Record<string, readonly string[]>>
}

/** A type of a response with all of its fields, which are optional only to say that one may have no value. */
export type Complete<Body> = { readonly [Name in keyof Body]-?: Complete<NonNullable<Body[Name]>> }

/** A type of a response with the fields that the service always sends. */
export type Having<Body, Name extends keyof Body> = Omit<Body, Name> & Complete<Pick<Body, Name>>

/** A response of the API, whose work has ended. */
type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'body'>

/** Work with files, as far as the console waits for it. */
interface Work {
  readonly submissionToken: string
  readonly jobId: string
  readonly file?: string
  readonly status: string
  readonly dateCompleted?: string
  readonly reason?: string
  readonly files?: readonly object[]
}

/** The API refused a request of a page, which displays the problem. */
export class ApiProblem extends Error {
  readonly problem: ProblemShown

  constructor(problem: ProblemShown) {
    super(problem.title)
    this.problem = problem
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  /** Whether it is for all organisations, as an operator may ask. */
  readonly ofAll?: true
  /** An object is sent as JSON; a stream unchanged. */
  readonly body?: object | NodeJS.ReadableStream
}

/**
 * Calls the operations of `/v1` in this process on behalf of the signed-in user. The same checks, limits and messages
 * apply as over the network, so a page shows nothing that the API would refuse.
 */
export class Api {
  readonly #app: FastifyInstance
  readonly #delegations: Delegations
  readonly #principal: Principal
  readonly #eid: string | undefined

  constructor(app: FastifyInstance, delegations: Delegations, principal: Principal, eid?: string) {
    this.#app = app
    this.#delegations = delegations
    this.#principal = principal
    this.#eid = eid
  }

  /** The response, whatever its status. */
  async send(path: string, call: Call = {}): Promise<Answer> {
    const response = await this.#delegate((credential) =>
      this.#app.inject(this.#describe(path, call, credential)),
    )
    const isChange = call.method === 'PUT' || call.method === 'POST'
    if (response.statusCode !== 202 || !isChange || !response.body.includes('"jobId"')) return response
    const work = await this.#finish(response.body)
    const { file, files = [] } = work
    return { statusCode: 200, body: JSON.stringify(file === undefined ? { ...work, files } : files[0]) }
  }

  /**
   * The body of a successful response as a stream, for large content. Destroying it aborts the request, as a client that
   * leaves.
   *
   * @throws {ApiProblem}
   */
  async stream(path: string, call: Call = {}): Promise<Readable> {
    for (;;) {
      const response = await this.#delegate((credential) =>
        this.#app.inject({ ...this.#describe(path, call, credential), payloadAsStream: true }),
      )
      const body = response.stream()
      body.once('close', () => response.raw.res.destroy())
      const { statusCode } = response
      if (statusCode < 400 && statusCode !== 202) return discarding(body, response.raw.res)
      const text = Buffer.concat(await body.toArray()).toString()
      if (statusCode !== 202) throw new ApiProblem(readProblem({ statusCode, body: text }))
      await this.#finish(text)
    }
  }

  /**
   * Waits for a worker that needs longer than one request: a person waits for what they have asked for.
   *
   * @throws {ApiProblem} if the work has no result
   */
  async #finish(accepted: string): Promise<Work> {
    let work = JSON.parse(accepted) as Work
    while (work.dateCompleted === undefined)
      work = await this.call<Work>(`/submissions/${work.submissionToken}/jobs/${work.jobId}`, {
        headers: { prefer: 'wait=30' },
      })
    if (work.status === 'Processed') return work
    throw new ApiProblem({ status: 400, title: 'The files could not be read', detail: work.reason ?? '' })
  }

  async #delegate<T>(send: (credential: string) => Promise<T>): Promise<T> {
    const credential = this.#delegations.issue(this.#principal)
    try {
      return await send(credential)
    } finally {
      this.#delegations.release(credential)
    }
  }

  #describe(
    path: string,
    { method = 'GET', query, headers = {}, ofAll, body }: Call,
    credential: string,
  ): InjectOptions {
    return {
      method,
      url: link(`/v1${path}`, query),
      headers: {
        authorization: `Bearer ${credential}`,
        ...(this.#eid !== undefined && ofAll !== true && { eid: this.#eid }),
        ...headers,
      },
      ...(body !== undefined && { payload: 'pipe' in body ? readStream(body) : body }),
    }
  }

  /**
   * Returns the body of a successful response.
   *
   * @throws {ApiProblem}
   */
  async call<Body>(path: string, call: Call = {}): Promise<Body> {
    const response = await this.send(path, call)
    if (response.statusCode >= 400) throw new ApiProblem(readProblem(response))
    return (response.body === '' ? {} : JSON.parse(response.body)) as Body
  }
}

/** A stream may have failed before anybody listens, when its client leaves early: its first reader then fails. */
const readStream = (body: NodeJS.ReadableStream): Readable => Readable.from(body, { objectMode: false })

/** The most bytes of a response in this process that wait to be discarded. */
const MOST_DISCARDED = 2 ** 20

/**
 * The body of a response in this process. It also goes to a socket that discards it, one piece in each turn of the event
 * loop, so it is read no faster than that: a large download would otherwise be in memory as a whole.
 */
function discarding(body: Readable, response: ServerResponse): Readable {
  const untilDiscarded = async () => {
    while (response.writableLength > MOST_DISCARDED) await setImmediate()
  }
  const read = new Transform({
    transform: (piece, _encoding, done) => void untilDiscarded().then(() => done(null, piece)),
  })
  return pipeline(body, read, () => undefined)
}

export function readProblem(response: Pick<LightMyRequestResponse, 'body' | 'statusCode'>): ProblemShown {
  const problem = JSON.parse(response.body) as ProblemShown
  return { ...problem, status: response.statusCode }
}
