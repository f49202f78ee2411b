import { MahiError } from '../../client/src/errors.ts'
import { type CredentialOptions, createClient, type OccupationSnapshot } from '../../client/src/index.ts'
import type { OccupationChanges } from '../../client/src/types.ts'

/** What a mirror asks a service for. */
export interface Source {
  /** Every page of changes since a token. */
  changes(since: string): AsyncIterable<OccupationChanges>
  /** The whole catalogue. */
  snapshot(): Promise<OccupationSnapshot>
}

/** How long the answer to one request may take, retries and the pauses of a rate limit included, in milliseconds. */
export const DEADLINE = 5 * 60_000

/** How long a command tries again where nothing listens or the host is unknown, in milliseconds. */
export const UNREACHABLE_DEADLINE = 3_000

/** Called before a request is sent again: with the failure, and the milliseconds until then. */
export type OnRetry = (failure: MahiError, pause: number) => void

/** Asks a service with the client. */
export function createSource(baseUrl: string, apiKey: string | undefined, onRetry?: OnRetry): Source {
  const credential: CredentialOptions = { apiKey }
  const { occupations } = createClient({
    baseUrl,
    ...credential,
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

/** A service without the operation answers 404, as does anything else that is no such service. */
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
