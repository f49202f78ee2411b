import { entryOf, runInChild } from '../../foundation/jobs/child.ts'
import { IndexTooLarge } from './build-limits.ts'

const ENTRY = entryOf('build-child', import.meta)

/** The message to the process that builds an index; a URL may contain a password, so it is no parameter. */
export interface BuildOrder {
  readonly databaseUrl: string
  readonly memoryBytes: number
}

/** The message from it, unless it has ended unexpectedly: another attempt at what is refused would end in the same way. */
export type BuildResult = { readonly kind: 'built' } | { readonly kind: 'refused'; readonly reason: string }

/** The index cannot be built, however often it is tried; the message says why. */
export class IndexRefused extends Error {}

export interface BuildOptions extends BuildOrder {
  readonly signal?: AbortSignal | undefined
}

/**
 * Builds the index of the current catalogue in a child process, which stores it and never outlives the call.
 *
 * @throws {IndexRefused}
 * @throws the reason of the signal if it is aborted
 */
export async function runBuild({ databaseUrl, memoryBytes, signal }: BuildOptions): Promise<void> {
  const result = await runInChild<BuildResult, BuildResult>({
    entry: ENTRY,
    memoryBytes,
    environment: process.env,
    signal,
    order: async () => ({ databaseUrl, memoryBytes }) satisfies BuildOrder,
    onMessage: (message, { resolve }) => resolve(message),
    onEnd({ outOfMemory, description }, { resolve, reject }) {
      if (outOfMemory) resolve({ kind: 'refused', reason: new IndexTooLarge(memoryBytes).message })
      else reject(new Error(`the process that builds the search index ended with ${description}`))
    },
  })
  if (result.kind === 'refused') throw new IndexRefused(result.reason)
}
