import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DiskFull, isDiskFull } from '../engines/checking/index.ts'
import { DatabaseUnavailable, DatabaseUnusable } from '../foundation/database/database.ts'
import { DecryptionFailed } from '../foundation/database/seal.ts'
import { makeFolder } from '../foundation/make-folder.ts'
import { Refusal } from './refusal.ts'

/** Names a folder for the temporary files of this process, and deletes the folders of killed processes. */
export function nameWorkFolder(parent: string, kind: 'worker' | 'files'): string {
  makeFolder(parent, 0o700)
  const pattern = new RegExp(`^mahi-${kind}-(\\d+)$`)
  for (const name of readdirSync(parent)) {
    const pid = Number(pattern.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true })
  }
  return join(parent, `mahi-${kind}-${process.pid}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether the database or a key is the cause: the message names it, and the caller cannot fix it. */
function isOfService(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable ||
    error instanceof DatabaseUnusable ||
    error instanceof DecryptionFailed
  )
}

/** How long a request waits for its turn to work, in milliseconds: shorter than the timeouts of common proxies. */
export const PATIENCE = 20_000

/** Private folders for work of requests. A stop of the process ends the work. */
export class WorkFolders {
  readonly #folder: string
  readonly #stop = new AbortController()

  /** @param parent by default, the system's folder for temporary files */
  constructor(parent: string = tmpdir()) {
    this.#folder = nameWorkFolder(parent, 'files')
  }

  /**
   * Does work in a folder of its own, which is deleted at its end.
   *
   * @param signal of the request; the work gets one that a stop aborts too
   * @param explain turns what the work throws into what the caller is to know, except failures of the service
   * @throws {Refusal} `busy` if the signal is aborted, or the disk is full
   */
  async use<Result>(
    name: string,
    signal: AbortSignal,
    explain: (error: unknown) => unknown,
    work: (folder: string, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const either = AbortSignal.any([signal, this.#stop.signal])
    const stopped = () => new Refusal('busy', 'The service is stopping.')
    if (either.aborted) throw stopped()
    makeFolder(this.#folder, 0o700)
    const folder = await mkdtemp(join(this.#folder, `${name}-`))
    try {
      return await work(folder, either)
    } catch (error) {
      if (either.aborted) throw stopped()
      if (error instanceof DiskFull || isDiskFull(error))
        throw new Refusal('busy', 'The service has no disk space left for this work. Try again later.')
      throw isOfService(error) ? error : explain(error)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Ends all work. */
  stop(): void {
    this.#stop.abort()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
