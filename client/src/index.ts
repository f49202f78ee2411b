import { createOccupationChanges, type OccupationChangeFeed } from './occupation-changes.ts'
import { createOccupations, type Occupations } from './occupations.ts'
import { type ClientOptions, createRequests } from './request.ts'
import { createSubmissions, type Submissions } from './submissions.ts'
import { createValidationResults, type ValidationResults } from './validation-results.ts'

export { type FailureKind, MahiError } from './errors.ts'

export type {
  ChangesQuery,
  OccupationChangeFeed,
  OccupationCopy,
  OccupationSnapshot,
  SnapshotOptions,
} from './occupation-changes.ts'
export type {
  ConfirmedCodingsQuery,
  Occupations,
  OccupationsQuery,
  SearchQuery,
  SuggestionsQuery,
} from './occupations.ts'

export type { CallOptions, ClientOptions, ConnectionOptions, CredentialOptions, Fetch } from './request.ts'
export type {
  Deletion,
  FileContent,
  PutFileOptions,
  Submissions,
  SubmittedRecord,
  WaitOptions,
} from './submissions.ts'
export type * from './types.ts'
export type {
  ReadAllOptions,
  ResultsQuery,
  ValidationResults,
} from './validation-results.ts'

/** A client of one installation of the service, with one credential. */
export interface Client {
  /** The occupation catalogue. */
  readonly occupations: Occupations & OccupationChangeFeed
  /** The validation results of submissions. */
  readonly validationResults: ValidationResults
  /** Submissions: create, upload, validate, submit, delete. */
  readonly submissions: Submissions
}

/**
 * Makes a client. Nothing is sent before the first call.
 *
 * @throws {TypeError} if the address is not absolute, holds a password, or a credential does not fit in a header
 */
export function createClient(options: ClientOptions): Client {
  const { send, stream, change } = createRequests(options)
  return {
    occupations: { ...createOccupations(send, change), ...createOccupationChanges(send, stream) },
    validationResults: createValidationResults(send, stream, options.eid),
    submissions: createSubmissions(send, stream, change, options.eid),
  }
}
