import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openIndex } from './index-file.ts'
import type { IndexOrder, IndexResult } from './index-worker.ts'
import { Mutex } from './mutex.ts'
import { OccupationSearch } from './search.ts'

/** The sources run directly; the package contains compiled files. */
const ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './index-worker.ts' : './index-worker.js', import.meta.url),
)
/** Milliseconds after a failure until the next attempt. */
const RETRY = 10_000

/** Callbacks for failures, for the log. */
export interface IndexComplaints {
  failed(error: unknown): void
  unstored(reason: string): void
}

/**
 * The index that serves requests. A worker thread loads or builds it. The current index serves requests until a new
 * one replaces it as a whole. Nothing happens before the first request or `start`.
 */
export class LiveIndex {
  readonly #databaseUrl: string
  readonly #complaints: IndexComplaints
  #current: OccupationSearch | undefined
  #loading: Promise<void> | undefined
  #stopWorker: (() => Promise<void>) | undefined
  #memory = new SharedArrayBuffer(0)
  #loaded: number | undefined
  /** When the index in use became outdated; `undefined` if it is current. */
  #behind: number | undefined = performance.now()
  #stale = true
  #started = false
  #closed = false
  #retry: NodeJS.Timeout | undefined
  readonly #listeners: (() => void)[] = []

  constructor(databaseUrl: string, complaints: IndexComplaints) {
    this.#databaseUrl = databaseUrl
    this.#complaints = complaints
  }

  /** The index in use, once there is one. */
  get current(): OccupationSearch | undefined {
    return this.#current
  }

  /** The bytes of the index in use; 0 if there is none. */
  get bytes(): number {
    return this.#memory.byteLength
  }

  /** The index in use, packed; empty if there is none. */
  get memory(): SharedArrayBuffer {
    return this.#memory
  }

  /** Seconds since the index in use was loaded; `undefined` if there is none. */
  get age(): number | undefined {
    return this.#loaded === undefined ? undefined : (performance.now() - this.#loaded) / 1000
  }

  /** Seconds for which the catalogue has been newer than the index in use; 0 if it is not. */
  get behind(): number {
    return this.#behind === undefined ? 0 : (performance.now() - this.#behind) / 1000
  }

  /** Calls the listener whenever the index in use changes. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Starts loading the index. */
  start(): void {
    this.#started = true
    void this.#load()
  }

  /** Called when the catalogue has a new revision. */
  advance(): void {
    this.#stale = true
    this.#behind ??= performance.now()
    if (this.#started) void this.#load()
  }

  /**
   * Returns the index in use, or waits for the first one.
   *
   * @returns `undefined` if none is loaded within that many milliseconds
   */
  async ready(within: number): Promise<OccupationSearch | undefined> {
    if (this.#current !== undefined) return this.#current
    // After a failure, requests do not trigger another attempt; the timer does.
    if (!this.#started) this.start()
    const patience = AbortSignal.timeout(within)
    const given = new Promise<void>((resolve) => patience.addEventListener('abort', () => resolve()))
    await Promise.race([this.#loading, given])
    return this.#current
  }

  /** Waits until the index in use is of the newest known revision. */
  async settled(): Promise<void> {
    while (this.#loading !== undefined) await this.#loading
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#stopWorker?.()
    await this.#loading
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadWhileStale().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #loadWhileStale(): Promise<void> {
    clearTimeout(this.#retry)
    while (this.#stale && !this.#closed) {
      this.#stale = false
      try {
        const { memory, unstored } = await this.#runWorker()
        const index = openIndex(memory)
        if (index === undefined) throw new Error('the worker thread has sent no index')
        this.#current = new OccupationSearch(index)
        this.#memory = memory
        this.#loaded = performance.now()
        if (!this.#stale) this.#behind = undefined
        if (unstored !== undefined) this.#complaints.unstored(unstored)
        for (const listener of this.#listeners) listener()
      } catch (error) {
        if (this.#closed) return
        this.#stale = true
        this.#complaints.failed(error)
        this.#retry = setTimeout(() => void this.#load(), RETRY).unref()
        return
      }
    }
  }

  #runWorker(): Promise<IndexResult> {
    const mutex = new Mutex()
    mutex.lock()
    const order: IndexOrder = { databaseUrl: this.#databaseUrl, databaseInUse: mutex.memory }
    return new Promise((resolve, reject) => {
      const worker = new Worker(ENTRY, { workerData: order })
      let ended = false
      const exit = new Promise<void>((ending) => {
        worker.once('exit', () => {
          ended = true
          ending()
        })
      })
      this.#stopWorker = async () => {
        worker.ref()
        // With better-sqlite3, terminating a thread that has a database open can crash the process.
        while (!ended && !mutex.tryLock()) await Promise.race([mutex.unlocked(), exit])
        await worker.terminate()
      }
      worker.on('message', resolve)
      worker.on('error', reject)
      worker.on('exit', (code) => reject(new Error(`the worker thread ended with ${code} and no index`)))
      // The process can exit without waiting for an index.
      worker.unref()
    })
  }
}
