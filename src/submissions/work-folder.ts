import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
   * @param explain turns what the work throws into what the caller is to know
   * @throws {Refusal} `busy` if the signal is aborted
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
      throw either.aborted ? stopped() : explain(error)
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
