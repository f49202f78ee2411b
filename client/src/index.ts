import { createOccupationChanges } from './occupation-changes.ts'
import { createOccupations } from './occupations.ts'
import { type ClientOptions, createRequests, type HeaderFields } from './request.ts'
import { createSubmissions } from './submissions.ts'
import { createValidationResults } from './validation-results.ts'

export { type FailureKind, MahiError } from './errors.ts'

export type {
  OccupationCopy,
  OccupationSnapshot,
  SnapshotOptions,
} from './occupation-changes.ts'
export type {
  CallOptions,
  ClientOptions,
  ConnectionOptions,
  CredentialOptions,
  Fetch,
  FileContent,
} from './request.ts'
export type {
  PutFileOptions,
  WaitOptions,
} from './submissions.ts'
export type * from './types.ts'
export type { ReadAllOptions } from './validation-results.ts'

/** A client of one installation of the service, with one credential. */
export type Client = ReturnType<typeof createClient>

/**
 * Makes a client. Nothing is sent before the first call.
 *
 * @throws {TypeError} if the address is not absolute, holds a password, or a credential does not fit in a header
 */
export function createClient(options: ClientOptions) {
  const requests = createRequests(options)
  const own: HeaderFields = options.eid === undefined ? {} : { eid: options.eid }
  return {
    /** The occupation catalogue. */
    occupations: { ...createOccupations(requests), ...createOccupationChanges(requests) },
    /** The validation results of submissions. */
    validationResults: createValidationResults(requests, own),
    /** Submissions: create, upload, validate, submit, delete. */
    submissions: createSubmissions(requests, own),
  }
}
