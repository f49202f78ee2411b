import { readFileSync } from 'node:fs'
import type { Cause, CheckSummary, CodeSummary } from '../../src/engines/checking/engine/summary.ts'
import type { Finding } from '../../src/engines/checking/index.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { Worker } from '../../src/foundation/jobs/worker.ts'
import { PACKAGE_ROOT } from '../../src/foundation/package/root.ts'
import { DoFileJob } from '../../src/submissions/files/do-file-job.ts'
import { readUpload } from '../../src/submissions/files/read-upload.ts'
import { receiveUpload } from '../../src/submissions/files/upload.ts'
import { Definitions } from '../../src/submissions/rules/definitions.ts'
import { RunJob } from '../../src/submissions/runs/run-job.ts'
import { requestRun } from '../../src/submissions/runs/validation.ts'
import { readRun } from '../../src/submissions/submission/runs.ts'
import { createSubmission } from '../../src/submissions/submission/submission.ts'

const FILE = readFileSync(new URL('samples/sdr/clean/learners.csv', PACKAGE_ROOT), 'utf8')
const SMALL = FILE.split('\n').slice(0, 21).join('\n')
/** A record of 200 characters. */
const RECORD = FILE.split('\n')[1]?.padEnd(200, ',') ?? ''

/** The findings of a run and the causes to which they belong in turn. */
interface Size {
  readonly findings: number
  readonly causes: number
}

/** Runs of a worker whose check generates findings instead of reading files: they are stored as any others are. */
export class StoredRuns {
  readonly #database: Database
  readonly #definitions = new Definitions(['sdr'])
  readonly #sealer = new Sealer()
  readonly #worker: Worker
  #size: Size = { findings: 0, causes: 1 }

  constructor(database: Database) {
    this.#database = database
    const run = new RunJob({
      database,
      sealer: this.#sealer,
      definitions: this.#definitions,
      limits: {},
      check: async () => this.#generate(),
    })
    const upload = new DoFileJob({
      database,
      sealer: this.#sealer,
      definitions: this.#definitions,
      limits: {},
      maxBytes: 1_000_000,
      readFiles: readUpload,
    })
    this.#worker = new Worker({
      database,
      runs: 1,
      handlers: { run, upload },
      onError: (error) => process.stderr.write(`${String(error)}\n`),
      onOutage: (error) => process.stderr.write(`${String(error)}\n`),
    })
  }

  /** Stores a submission of an organisation with a finished run, and returns its token. */
  async store(eid: string, returnId: string, size: Size): Promise<string> {
    const database = this.#database
    this.#size = size
    const { submission } = await createSubmission(database, { eid, returnId, definition: 'sdr' })
    const { token } = submission
    await receiveUpload(database, this.#sealer, {
      ...{ token, eid, resource: 'learners', format: 'csv', gzip: false, isContainer: false },
      ...{ content: toStream(Buffer.from(SMALL)) },
    } as const)
    while ((await database.get('select id from job where kind = $1', ['upload'])) !== undefined)
      await new Promise((resolve) => setTimeout(resolve, 20))
    const { run } = await requestRun(database, { token, eid })
    for (;;) {
      const stored = await readRun(database, run.run)
      if (stored?.status === 'Processed') return token
      if (stored?.completed != null) throw new Error(`the run ended as ${stored.status}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  #generate() {
    const size = this.#size
    return {
      summary: summarise(this.#definitions.get('sdr'), size),
      path: '',
      findings: () => generateFindings(size),
      dispose: async () => undefined,
    }
  }
}

async function* toStream(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

const CODES = ['LEA-101', 'LEA-102', 'LEA-201', 'LEA-202', 'LEA-203', 'LEA-204', 'LEA-205', 'LEA-206']
const FIELD = 'firstYearOfTertiaryEducation'
const codeOf = (cause: number): string => CODES[cause % CODES.length] ?? ''
const keyOf = (cause: number): string => `value:learners:${FIELD}:${cause}`

async function* generateFindings({ findings, causes }: Size): AsyncGenerator<Finding> {
  for (let at = 0; at < findings; at++) {
    const cause = at % causes
    yield {
      localId: `L${at}`,
      errorCode: codeOf(cause),
      errorDescription: `${FIELD} is "${cause}", but must be a year such as 2025.`,
      errorType: 'Error',
      fileType: 'Learner',
      studentId: `S${at % 20_000}`,
      recordText: RECORD,
      file: 'learners.csv',
      line: at + 2,
      field: FIELD,
      value: String(cause),
      findingKey: `${at}`,
      cause: keyOf(cause),
    }
  }
}

function summarise(definition: CheckSummary['definition'], { findings, causes }: Size): CheckSummary {
  const each = Math.ceil(findings / causes)
  return {
    definition,
    parameters: { returnId: '202512', asOf: '2025-12-31' } as unknown as CheckSummary['parameters'],
    files: [],
    unread: [],
    spare: [],
    codes: CODES.map((code) => ({ code, count: findings / CODES.length }) as unknown as CodeSummary),
    causes: Array.from({ length: causes }, (_, cause): Cause => {
      const value = String(cause)
      const description = `${FIELD} is "${value}", but must be a year such as 2025.`
      return {
        key: keyOf(cause),
        kind: 'value',
        severity: 'Error',
        file: 'learners.csv',
        field: FIELD,
        value,
        codes: [codeOf(cause)],
        findings: each,
        records: each,
        learners: Math.min(each, 20_000),
        sentence: `${FIELD} ${value} is wrong: it must be a year such as 2025.`,
        general: `${FIELD} must be a year such as 2025.`,
        fix: 'Enter the year in which the learner first enrolled.',
        example: { file: 'learners.csv', line: cause + 2, field: FIELD, value, description },
      }
    }),
    errors: findings,
    warnings: 0,
    notRun: [],
    undecided: [],
    seconds: 1,
  }
}
