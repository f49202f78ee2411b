import { onTestFinished } from 'vitest'
import type { Limits } from '../../src/engines/checking/process/limits.ts'
import { writeCopies } from '../../src/engines/checking/repair/write-copies.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { readUpload } from '../../src/submissions/files/read-upload.ts'
import type { Retention } from '../../src/submissions/retention/sweep.ts'
import { Definitions } from '../../src/submissions/rules/definitions.ts'
import { type RunningWorker, startSubmissionWorker } from '../../src/submissions/worker.ts'
import { checkHere } from './check-here.ts'
import { temporaryFolder } from './temporary.ts'

/** A worker in this process, for one test. With `inProcesses`, it reads and checks files as the service does. */
export async function startWorker(
  database: Database,
  definitions: readonly string[],
  {
    sealer = new Sealer(),
    retention = { files: 'off', results: 'off' },
    runs = 1,
    limits = {},
    inProcesses = false,
    check = checkHere,
  }: {
    sealer?: Sealer
    retention?: Retention
    runs?: number
    limits?: Partial<Limits>
    inProcesses?: boolean
    check?: typeof checkHere
  } = {},
): Promise<RunningWorker & { readonly log: object[] }> {
  const log: object[] = []
  const worker = await startSubmissionWorker({
    database,
    sealer,
    definitions: new Definitions(definitions),
    runs,
    limits,
    maxBytes: 2 ** 30,
    folder: temporaryFolder(),
    ...(!inProcesses && { check, readFiles: readUpload, write: writeCopies }),
    retention,
    log: {
      error: (line: object) => {
        log.push(line)
        process.stderr.write(`${String((line as { err?: unknown }).err)}\n`)
      },
      info: () => undefined,
      warn: (line: object) => void log.push(line),
    } as Parameters<typeof startSubmissionWorker>[0]['log'],
  })
  onTestFinished(() => worker.stop())
  return { stop: () => worker.stop(), log }
}
