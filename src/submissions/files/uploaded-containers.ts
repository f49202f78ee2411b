import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Actor } from '../../api/access/principal.ts'
import { openContainer } from '../../engines/checking/index.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import type { Slots } from '../../foundation/slots.ts'
import { Refusal } from '../refusal.ts'
import { assertOpen, type FileState, type SubmissionRow } from '../submission.ts'
import { PATIENCE, WorkFolders } from '../work-folder.ts'
import type { Upload } from './receive.ts'
import type { ReturnedFilesOptions } from './returned-files.ts'
import { assertDigest, hashAll } from './sent-digest.ts'
import { storeFiles } from './upload.ts'

export interface ContainerSettings extends ReturnedFilesOptions {
  /** The most bytes of a container, and of its files together. */
  readonly maxBytes: number
}

interface ContainerUpload extends Pick<Upload, 'content' | 'digest' | 'ifMatch' | 'ifNoneMatch'> {
  readonly submission: SubmissionRow
  /** The only file that it must contain, such as `learners`; by default, each file is read by its name. */
  readonly only?: string
  readonly actor: Actor
  /** One slot for each that is opened at once. */
  readonly slots: Slots
  readonly owner: string
  readonly signal: AbortSignal
}

/** The most reasons that are named. */
const MOST_REASONS = 10

/** The most characters of a reason, which contains a name in the archive. */
const MOST_CHARACTERS = 500

/**
 * ZIP archives and workbooks with files of a submission. Each is opened in a child process, in a private folder that is
 * deleted before the response.
 */
export class UploadedContainers {
  readonly #settings: ContainerSettings
  readonly #folders: WorkFolders

  constructor(settings: ContainerSettings) {
    this.#settings = settings
    this.#folders = new WorkFolders(settings.folder)
  }

  /**
   * Stores the files of a container; none if one is refused.
   *
   * @throws {Refusal}
   * @throws {Exhausted} if too many are being opened
   */
  async store(upload: ContainerUpload): Promise<FileState[]> {
    assertOpen(upload.submission)
    return await this.#folders.use('container', upload.signal, explain, async (folder, signal) => {
      const path = join(folder, 'content')
      await this.#receive(upload, path, signal)
      const files = await this.#open(upload, path, signal)
      return await this.#storeFiles(upload, files)
    })
  }

  /** Ends what is being opened. */
  stop(): void {
    this.#folders.stop()
  }

  async #receive({ content, digest }: ContainerUpload, path: string, signal: AbortSignal): Promise<void> {
    const sent = createHash('sha256')
    const hashed = hashAll(content, digest === undefined ? undefined : sent)
    await pipeline(Readable.from(hashed), createWriteStream(path, { mode: 0o600 }), { signal })
    if (digest !== undefined) assertDigest(sent, digest)
  }

  async #open({ submission, only, slots, owner }: ContainerUpload, path: string, signal: AbortSignal) {
    const { definitions, limits, maxBytes } = this.#settings
    const definition = definitions.get(submission.definition ?? '')
    const slot = await slots.enter(owner, PATIENCE)
    try {
      return await openContainer(path, { definition, only, unpackedBytes: maxBytes, limits, signal })
    } finally {
      slot.release()
    }
  }

  async #storeFiles(
    { submission, actor, ifMatch, ifNoneMatch }: ContainerUpload,
    { files, notes }: Awaited<ReturnType<typeof openContainer>>,
  ): Promise<FileState[]> {
    const { database, sealer, definitions, maxBytes } = this.#settings
    const { token, eid } = submission
    const definition = submission.definition ?? ''
    const [first, ...others] = files.map(
      ({ resource, path, name }): Upload => ({
        token,
        eid,
        resource,
        name,
        format: 'csv',
        form: definitions.formOf(definition, resource),
        gzip: false,
        content: readFile(path),
        judgeStart: (start) => definitions.judgeStart(definition, resource, start),
        maxBytes,
        actor,
        ...(ifMatch !== undefined && { ifMatch }),
        ...(ifNoneMatch !== undefined && { ifNoneMatch }),
      }),
    )
    if (first === undefined) throw new Error('the container has no files')
    // What was not read belongs to no file: the first one says so.
    return await storeFiles(database, sealer, [{ ...first, notes }, ...others])
  }
}

/** Opens a file only when it is read, and closes it in any case. */
async function* readFile(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>
}

/** The faults contain names within the container, and no data. */
function explain(error: unknown): unknown {
  if (!(error instanceof UserError)) return error
  const reasons = error.faults.map(({ file, message }) =>
    `${file === undefined ? '' : `${file} `}${message}.`.slice(0, MOST_CHARACTERS),
  )
  return new Refusal('invalid', [...new Set(reasons)].slice(0, MOST_REASONS).join(' '))
}
