import { MahiError } from '../../client/src/errors.ts'
import { createClient, type OccupationSnapshot } from '../../client/src/index.ts'
import type { OccupationChanges } from '../../client/src/types.ts'

/** What a mirror reads from a service. */
export interface Source {
  /** Every page of changes since a token. */
  changes(since: string): AsyncIterable<OccupationChanges>
  /** The whole catalogue. */
  snapshot(): Promise<OccupationSnapshot>
}

/** Time limit of one request including retries and rate-limit pauses, in milliseconds. */
export const DEADLINE = 5 * 60_000

/** Time limit of retries if the connection is refused or the host is unknown, in milliseconds. */
export const UNREACHABLE_DEADLINE = 3_000

/** Called before a retry with the failure and the pause in milliseconds. */
export type OnRetry = (failure: MahiError, pause: number) => void

/** Creates a source that uses the client. */
export function createSource(baseUrl: string, apiKey: string | undefined, onRetry?: OnRetry): Source {
  const { occupations } = createClient({
    baseUrl,
    apiKey,
    deadline: DEADLINE,
    unreachableDeadline: UNREACHABLE_DEADLINE,
    onRetry,
    cachedPages: 0,
  })
  return {
    changes: (since) => occupations.changePages({ since }),
    snapshot: () => occupations.snapshot().catch(explainMissing),
  }
}

/** A service without the operation responds with 404, as does any server that is not such a service. */
function explainMissing(error: unknown): never {
  if (!(error instanceof MahiError) || error.status !== 404) throw error
  throw new MahiError(
    'unreadable',
    {
      title:
        'The service has no snapshot of its catalogue: it is an older version of Mahi or another service',
      status: 404,
    },
    error,
  )
}
