import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem, unavailable } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import { isSameRevision, type Revision } from '../../foundation/database/revisions.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import {
  buildSnapshot,
  encodedPath,
  type Measured,
  removeSnapshot,
  type Snapshot,
  type SnapshotEncoding,
} from './snapshot-file.ts'

/** How long a request waits for a snapshot to be created, in milliseconds. */
const PATIENCE = 20_000

/** How long a page of changes waits for the digest of its revision, in milliseconds. */
const DIGEST_PATIENCE = 5_000

/** Bytes read from a file at once. Measured: pieces of 64 KiB and more take more processor time for each byte. */
const CHUNK = 32 * 1024

/** A snapshot in one encoding, ready to send. */
export interface OpenSnapshot {
  readonly snapshot: Snapshot
  /** The size and digest of the bytes to send. */
  readonly sent: Measured
  /** Reads the bytes, and closes the file. */
  readonly body: AsyncIterable<Buffer>
  /** Closes the file without reading it. */
  close(): Promise<void>
}

/** Called when a snapshot could not be created. */
export type OnSnapshotFailure = (error: unknown) => void

/**
 * The snapshot of the current revision, stored as files. It is created at the first request, and then again at once
 * for each new revision.
 */
export class SnapshotStore {
  readonly #database: Database
  readonly #folder: string
  readonly #onFailure: OnSnapshotFailure
  readonly #stopping = new AbortController()
  #revision: Revision
  #current: Snapshot | undefined
  /** The snapshot that is being created, and the newest revision that this process knew when that began. */
  #building: { readonly from: Revision; readonly built: Promise<Snapshot> } | undefined
  #wanted = false

  constructor(database: Database, folder: string, revision: Revision, onFailure: OnSnapshotFailure) {
    this.#database = database
    this.#folder = folder
    this.#revision = revision
    this.#onFailure = onFailure
  }

  /** The newest revision that this process has seen. */
  get revision(): Revision {
    return this.#revision
  }

  /** Called when the catalogue has a new revision. */
  advance(revision: Revision): void {
    this.#revision = revision
    if (this.#wanted) void this.#build().catch(() => undefined)
  }

  /**
   * Opens the snapshot in an encoding.
   *
   * @throws {Problem} `unavailable` while it is being created, or if that failed
   */
  async open(encoding: SnapshotEncoding): Promise<OpenSnapshot> {
    this.#wanted = true
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#get()
      try {
        const file = await open(encodedPath(this.#folder, snapshot, encoding))
        return {
          snapshot,
          sent: snapshot[encoding],
          body: readFile(file),
          close: () => file.close(),
        }
      } catch (error) {
        // Somebody has deleted the files: create them again.
        this.#current = undefined
        if (attempt === 2) throw this.#explain(error)
      }
    }
  }

  /**
   * The SHA-256 of the NDJSON of a revision, in base64; `undefined` if it is not known in time, or if the catalogue has
   * changed meanwhile.
   */
  async digestAt(revision: Revision): Promise<string | undefined> {
    this.#wanted = true
    try {
      const snapshot = await this.#within(DIGEST_PATIENCE, revision)
      const isMeant = snapshot !== undefined && isSameRevision(snapshot.revision, revision)
      return isMeant ? snapshot.identity.digest : undefined
    } catch {
      // The log has the cause, and the changes are complete without it.
      return undefined
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    while (this.#building !== undefined) await this.#building.built.catch(() => undefined)
  }

  async #get(): Promise<Snapshot> {
    const snapshot = await this.#within(PATIENCE, this.#revision)
    if (snapshot === undefined) throw unavailable('The snapshot of the catalogue is being prepared.', 5)
    return snapshot
  }

  /** The snapshot of a revision, or else one that is created now; `undefined` if that takes longer. */
  async #within(patience: number, revision: Revision): Promise<Snapshot | undefined> {
    const current = this.#current
    if (current !== undefined && isSameRevision(current.revision, revision)) return current
    const giveUp = new AbortController()
    try {
      return await Promise.race([
        this.#build(),
        sleep(patience, undefined, { signal: giveUp.signal, ref: false }),
      ])
    } finally {
      giveUp.abort()
    }
  }

  /**
   * Creates one snapshot at a time, shared by all requests. A snapshot whose creation began before the newest revision
   * was known is not shared: it may contain records that the caller has already seen removed.
   */
  async #build(): Promise<Snapshot> {
    while (this.#building !== undefined && !isSameRevision(this.#building.from, this.#revision))
      await this.#building.built.catch(() => undefined)
    this.#building ??= {
      from: this.#revision,
      built: this.#buildCurrent().finally(() => {
        this.#building = undefined
      }),
    }
    return await this.#building.built
  }

  async #buildCurrent(): Promise<Snapshot> {
    const before = this.#current
    try {
      const snapshot = await buildSnapshot(this.#database, this.#folder, this.#stopping.signal)
      this.#current = snapshot
      if (before !== undefined && before.delta !== snapshot.delta) await removeSnapshot(this.#folder, before)
      return snapshot
    } catch (error) {
      throw this.#explain(error)
    }
  }

  #explain(error: unknown): unknown {
    // Known database errors already have a response.
    if (error instanceof Problem || error instanceof UserError) return error
    if (!this.#stopping.signal.aborted) this.#onFailure(error)
    return unavailable('The snapshot of the catalogue could not be prepared.', 60, error)
  }
}

/** Reads a file and closes it at the end, even if the reader leaves before it starts. */
function readFile(file: FileHandle): AsyncIterable<Buffer> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = readChunks(file)
      return {
        next: () => chunks.next(),
        return: async () => {
          await chunks.return(undefined)
          await file.close()
          return { done: true as const, value: undefined }
        },
      }
    },
  }
}

async function* readChunks(file: FileHandle): AsyncGenerator<Buffer> {
  yield* file.createReadStream({ highWaterMark: CHUNK })
}
