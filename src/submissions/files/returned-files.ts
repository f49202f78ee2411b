import { createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Limits, type ReturnedForm, returnFiles } from '../../engines/checking/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import type { Slot, Slots } from '../../foundation/slots.ts'
import { Refusal } from '../refusal.ts'
import type { Definitions } from '../rules/definitions.ts'
import { listFiles, type SubmissionRow } from '../submission.ts'
import { PATIENCE, WorkFolders } from '../work-folder.ts'
import { readCurrentFile } from './current-file.ts'
import { FileGone } from './file-store.ts'

export interface ReturnedFilesOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  readonly limits: Partial<Limits>
  /** The folder for temporary files; defaults to the system's. */
  readonly folder: string | undefined
}

interface ReturnRequest {
  readonly submission: SubmissionRow
  readonly form: ReturnedForm
  /** One slot for each at once. */
  readonly slots: Slots
  readonly owner: string
  /** Of the changes by batches to a file. */
  readonly takeMemory: () => Slot
  readonly signal: AbortSignal
}

/** The bytes of a file that are sent at once. */
const PIECE = 1 << 16

/**
 * Marked and corrected copies of the current files of a submission. They are made in child processes, in a private
 * folder that is deleted before the first byte is sent: what is sent has no name any more.
 */
export class ReturnedFiles {
  readonly #options: ReturnedFilesOptions
  readonly #folders: WorkFolders

  constructor(options: ReturnedFilesOptions) {
    this.#options = options
    this.#folders = new WorkFolders(options.folder)
  }

  /**
   * @throws {Refusal} if there are no files, or they cannot be marked or corrected
   * @throws {Exhausted} if too many are being made
   */
  async create(request: ReturnRequest): Promise<AsyncIterable<Buffer>> {
    const slot = await request.slots.enter(request.owner, PATIENCE)
    try {
      return await this.#folders.use('copies', request.signal, explain, async (folder, signal) =>
        sendFile(await open(await this.#make(request, folder, signal))),
      )
    } finally {
      slot.release()
    }
  }

  /** Ends what is being made. */
  stop(): void {
    this.#folders.stop()
  }

  async #make({ submission, form, takeMemory }: ReturnRequest, folder: string, signal: AbortSignal) {
    const { database, sealer, definitions, limits } = this.#options
    const { token, definition: name, returnId, type } = submission
    const stored = await listFiles(database, token)
    if (stored.length === 0)
      throw new Refusal('not-found', 'The submission has no files yet. Upload them first.')
    const definition = definitions.get(name ?? '')
    const files = []
    for (const file of stored) {
      const path = join(folder, `${file.resource}.${file.format}`)
      const content = readCurrentFile(
        database,
        sealer,
        file,
        definitions.formOf(definition.name, file.resource),
        takeMemory,
      )
      await pipeline(Readable.from(content), createWriteStream(path, { mode: 0o600 }), { signal })
      files.push({ resource: file.resource, name: `${file.resource}.${file.format}`, path })
    }
    const request = { definition, files, returnId, complete: type !== 'Indicative' }
    return await returnFiles(request, { form, folder, limits, signal })
  }
}

/** Limits and files that cannot be marked are the caller's to know; the messages contain no data. */
function explain(error: unknown): unknown {
  if (error instanceof FileGone)
    return new Refusal('conflict', 'A file was replaced or deleted while it was read. Try again.', {
      errorCode: 'DS1',
      retryAfter: 1,
    })
  return error instanceof UserError ? new Refusal('conflict', error.message) : error
}

/** The content of an open file, which is closed in any case: also if nobody reads it. */
function sendFile(file: FileHandle): AsyncIterable<Buffer> {
  const iterator: AsyncIterator<Buffer> = {
    async next() {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE)
      if (bytesRead > 0) return { done: false, value: buffer.subarray(0, bytesRead) }
      await file.close()
      return { done: true, value: undefined }
    },
    async return() {
      await file.close()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
