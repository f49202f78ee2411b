import { setTimeout as sleep } from 'node:timers/promises'
import { writeCopies } from '../../src/engines/checking/repair/write-copies.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { takeOne } from '../../src/foundation/jobs/worker.ts'
import { DoFileJob, type FileWorkerOptions } from '../../src/submissions/files/do-file-job.ts'
import { findFileJob } from '../../src/submissions/files/file-job.ts'
import { readUpload } from '../../src/submissions/files/read-upload.ts'
import { receiveUpload, type Upload } from '../../src/submissions/files/upload.ts'
import { Definitions } from '../../src/submissions/rules/definitions.ts'
import { toProblem } from '../../src/submissions/submission/refusal.ts'
import type { FileState } from '../../src/submissions/submission/submission.ts'
import { checkHere } from './check-here.ts'
import { temporaryFolder } from './temporary.ts'

/** Reads uploads and makes copies of files in this process, while somebody waits for that. */
export class FileWorker {
  readonly #database: Database
  readonly #work: DoFileJob
  readonly #sealer: Sealer

  constructor(
    database: Database,
    {
      sealer = new Sealer(),
      definitions = new Definitions(),
      ...options
    }: Partial<Omit<FileWorkerOptions, 'database'>> = {},
  ) {
    this.#database = database
    this.#sealer = sealer
    this.#work = new DoFileJob({
      database,
      sealer,
      definitions,
      limits: {},
      maxBytes: 2 ** 30,
      folder: temporaryFolder(),
      readFiles: readUpload,
      check: checkHere,
      write: writeCopies,
      ...options,
    })
  }

  async during<T>(waited: Promise<T>): Promise<T> {
    let isOver = false
    const end = () => {
      isOver = true
    }
    waited.then(end, end)
    // What needs no work has ended by then.
    await Promise.race([waited.catch(() => undefined), sleep(5)])
    while (!isOver) if (!(await this.takeOne())) await sleep(5)
    return await waited
  }

  /** Does the next work, if there is any. */
  async takeOne(): Promise<boolean> {
    return await takeOne(
      {
        database: this.#database,
        handlers: { upload: this.#work, copies: this.#work },
        onError: (error) => process.stderr.write(`${String(error)}\n`),
        onOutage: () => undefined,
      },
      ['upload', 'copies'],
      new AbortController().signal,
    )
  }

  /** Stores a file as an upload does, and returns it; throws why it was refused. */
  async store(upload: Partial<Upload> & Pick<Upload, 'token' | 'eid' | 'content'>): Promise<FileState> {
    const id = await receiveUpload(this.#database, this.#sealer, {
      format: 'csv',
      gzip: false,
      isContainer: false,
      ...upload,
    })
    for (;;) {
      const {
        completed,
        refused,
        files: [file] = [],
      } = (await findFileJob(this.#database, this.#sealer, id)) ?? {}
      if (refused !== undefined) throw toProblem(refused)
      if (completed != null && file !== undefined) return file
      await this.takeOne()
    }
  }
}
