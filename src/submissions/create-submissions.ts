import type { Access } from '../api/access/admit.ts'
import type { Part } from '../api/contract/part.ts'
import type { Serving } from '../api/create-serving.ts'
import type { Database } from '../foundation/database/database.ts'
import type { Life } from '../foundation/lifecycle.ts'
import { fileOperations } from './files/operations.ts'
import { resultsOperations } from './findings/operations.ts'
import { type KeySettings, openSealer } from './open-sealer.ts'
import { submissionOperations } from './operations.ts'
import { recordErasuresIn } from './retention/erasures.ts'
import { Definitions } from './rules/definitions.ts'
import { ruleOperations } from './rules/operations.ts'
import { runOperations } from './runs/operations.ts'
import type { SubmissionOptions } from './submission/options.ts'

/** Entries of a page of results without pageSize. */
const DEFAULT_PAGE_SIZE = 100

export interface SubmissionSettings extends KeySettings {
  readonly DEFINITIONS: readonly string[]
  readonly TIME_ZONE?: string | undefined
  readonly UPLOAD_MAX_MB: number
  readonly ERASURE_LOG?: string | undefined
  readonly RESULTS_PAGE_SIZE_MAX: number
}

export interface CreateSubmissionsOptions {
  readonly database: Database
  readonly access: Access
  readonly serving: Pick<Serving, 'createCache'>
  readonly life: Life
}

/**
 * Submissions, their files and runs, their findings, and the rules.
 *
 * @throws {DatabaseUnusable} if the encryption keys are not those of the database
 */
export async function createSubmissions(
  settings: SubmissionSettings,
  { database, access, serving, life }: CreateSubmissionsOptions,
): Promise<Part> {
  const sealer = await openSealer(database, settings)
  const definitions = new Definitions(settings.DEFINITIONS)
  const maxUploadBytes = settings.UPLOAD_MAX_MB * 2 ** 20
  const options: SubmissionOptions = {
    access,
    database,
    sealer,
    definitions,
    timeZone: settings.TIME_ZONE ?? 'UTC',
    maxUploadBytes,
    recordErasure: recordErasuresIn(settings.ERASURE_LOG),
    isStopping: () => life.stopping,
  }
  return {
    operations: [
      ...resultsOperations({
        database,
        pages: serving.createCache(),
        limits: {
          default: Math.min(DEFAULT_PAGE_SIZE, settings.RESULTS_PAGE_SIZE_MAX),
          max: settings.RESULTS_PAGE_SIZE_MAX,
        },
        sealer,
      }),
      ...submissionOperations(options),
      ...fileOperations(options),
      ...runOperations(options),
      ...ruleOperations(options.definitions),
    ],
    metrics: [],
    stop: () => undefined,
  }
}
