// Readers of a service, in a thread of their own: one request every so often, whether or not earlier ones have ended.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** A request: when it was due, in milliseconds since 1970, and how long its response took from then. */
export interface Read {
  readonly kind: 'catalogue' | 'findings'
  readonly due: number
  readonly ms: number
  /** 0 if the connection failed. */
  readonly status: number
}

/** Findings that may be read: those of a submission. */
export interface Readable {
  readonly eid: string
  readonly token: string
  /** Totals that it has had or is about to have. */
  readonly totals: readonly number[]
}

export interface Reads {
  readonly reads: readonly Read[]
  /** Responses with the total of another organisation, or none. */
  readonly wrong: readonly string[]
}

interface Target {
  readonly url: string
  readonly key: string
  /** Milliseconds between two requests. */
  readonly interval: number
  /** Codes at which pages of the catalogue begin. */
  readonly cursors: readonly string[]
}

/** Reads in a thread until stopped. */
export class Readers {
  readonly #thread: Worker

  constructor(target: Target) {
    this.#thread = new Worker(new URL(import.meta.url), { workerData: target })
  }

  add(readable: Readable): void {
    this.#thread.postMessage(readable)
  }

  async stop(): Promise<Reads> {
    const reads = new Promise<Reads>((resolve, reject) => {
      this.#thread.once('message', resolve)
      this.#thread.once('error', reject)
    })
    this.#thread.postMessage('stop')
    return await reads
  }
}

if (!isMainThread) read(workerData as Target)

function read({ url, key, interval, cursors }: Target): void {
  const known: Readable[] = []
  const reads: Read[] = []
  const wrong: string[] = []
  const open = new Set<Promise<void>>()
  let count = 0
  const one = async (): Promise<void> => {
    const readable = known[Math.floor(Math.random() * known.length)]
    const kind = count++ % 2 === 0 || readable === undefined ? 'catalogue' : 'findings'
    const due = Date.now()
    const begun = performance.now()
    const note = (status: number) => reads.push({ kind, due, ms: performance.now() - begun, status })
    const cursor = cursors[Math.floor(Math.random() * cursors.length)]
    const path =
      kind === 'catalogue'
        ? `/v1/occupations?Limit=20&Cursor=${cursor}`
        : `/v1/submissions/${readable?.token}/validation-results?pageSize=100`
    try {
      const response = await fetch(url + path, {
        headers: { 'x-api-key': key, ...(kind === 'findings' && { eid: readable?.eid ?? '' }) },
      })
      const body = (await response.json()) as { totalCount?: number }
      note(response.status)
      if (response.status !== 200 || kind === 'catalogue') return
      if (!readable?.totals.includes(body.totalCount ?? -1))
        wrong.push(`${readable?.eid} has ${body.totalCount}, not ${readable?.totals.join(' or ')}`)
    } catch {
      note(0)
    }
  }
  const timer = setInterval(() => {
    const reading = one().finally(() => open.delete(reading))
    open.add(reading)
  }, interval)
  parentPort?.on('message', async (message: Readable | 'stop') => {
    if (message !== 'stop') {
      known.push(message)
      return
    }
    clearInterval(timer)
    await Promise.all(open)
    parentPort?.postMessage({ reads, wrong } satisfies Reads)
    parentPort?.close()
  })
}
