import { randomBytes } from 'node:crypto'
import type { Database, Value, Writer } from '../database/database.ts'
import { bumpRevision } from '../database/revisions.ts'
import { listColumns } from '../input/csv-columns.ts'
import { InputRefused, isFault, MAX_FAULTS, refuse } from '../input/faults.ts'
import { compileShape } from '../input/shape.ts'
import type { SourceRecord } from '../input/source-record.ts'
import { quote } from '../text/quote.ts'
import type { Fault } from '../text/user-error.ts'
import { findSubmission } from './queries.ts'
import { ValidationEntry } from './schema.ts'

export interface Publication {
  /** The organisation that made the submission. */
  readonly eid: string
  /** The return that the submission belongs to. */
  readonly returnId: string
  /** The token of a submission that exists or is to exist; without it a new one is made. */
  readonly token?: string
  /** Called with the number of entries read so far, now and then. */
  readonly onProgress?: (entries: number) => void
  /** Called once if another transaction has to finish first. */
  readonly onWait?: () => void
}

export interface PublicationSummary {
  readonly submissionToken: string
  readonly returnId: string
  readonly eid: string
  readonly runId: number
  readonly totalCount: number
}

/** The columns of a run of validation results as CSV. */
export const ENTRY_COLUMNS = listColumns(ValidationEntry)

const readShape = compileShape(ValidationEntry, { personal: true })

/**
 * Stores a complete run of validation results and makes it the submission's current one, in one transaction: readers
 * see the old run or the new one. The order of the entries is kept. Memory does not grow with their number.
 *
 * @throws {InputRefused} with every fault found, up to MAX_FAULTS; nothing is stored then
 */
export async function publishResults(
  database: Database,
  entries: AsyncIterable<SourceRecord | Fault>,
  { eid, returnId, token = randomBytes(24).toString('base64url'), onProgress, onWait }: Publication,
): Promise<PublicationSummary> {
  const faults = findPublicationFaults({ eid, returnId, token })
  if (faults.length > 0) throw new InputRefused(faults)

  // Numbered beforehand, so that publishes of different submissions need not wait for each other.
  const { number: runId } = await database.write('run', (writer) => bumpRevision(writer, 'run'), onWait)
  return await database.write(
    `submission:${token}`,
    async (writer) => {
      const before = await findSubmission(writer, token)
      if (before !== undefined && (before.eid !== eid || before.returnId !== returnId)) {
        refuse({
          field: '--token',
          message: `names a submission of EID ${quote(before.eid)} and return ${quote(before.returnId)}: publish it with those, or leave --token out for a new submission`,
        })
      }
      const totalCount = await loadEntries(writer, runId, entries, onProgress)
      await writer.run(
        `insert into submission (token, eid, return_id, run, total, published) values ($1, $2, $3, $4, $5, $6)
         on conflict (token) do update set
           run = excluded.run, total = excluded.total, published = excluded.published`,
        [token, eid, returnId, runId, totalCount, Date.now()],
      )
      if (before !== undefined) await writer.run('delete from result_entry where run = $1', [before.run])
      return { submissionToken: token, returnId, eid, runId, totalCount }
    },
    onWait,
  )
}

function findPublicationFaults({
  eid,
  returnId,
  token,
}: {
  eid: string
  returnId: string
  token: string
}): Fault[] {
  const checks: [string, string, RegExp, string][] = [
    ['--eid', eid, /^[!-~]{1,64}$/, 'at most 64 visible ASCII characters without spaces'],
    ['--return', returnId, /^[!-~]{1,64}$/, 'at most 64 visible ASCII characters without spaces'],
    [
      '--token',
      token,
      /^[A-Za-z0-9._~-]{8,128}$/,
      '8 to 128 letters, digits, dots, hyphens, underscores or tildes',
    ],
  ]
  return checks.flatMap(([field, value, pattern, right]) => {
    if (pattern.test(value)) return []
    // A token lets its bearer in, and messages end in logs.
    const shown = field === '--token' ? `${value.length} characters long` : quote(value)
    return [{ field, message: `is ${shown}, and should be ${right}` }]
  })
}

async function loadEntries(
  writer: Writer,
  runId: number,
  entries: AsyncIterable<SourceRecord | Fault>,
  onProgress?: (entries: number) => void,
): Promise<number> {
  const faults: Fault[] = []
  async function* rows(): AsyncGenerator<readonly Value[]> {
    let ordinal = 0
    try {
      for await (const entry of entries) {
        const { value, faults: found } = isFault(entry) ? { faults: [entry] } : readEntry(entry)
        faults.push(...found.slice(0, MAX_FAULTS - faults.length))
        if (faults.length >= MAX_FAULTS) return
        if (faults.length > 0) continue
        yield [runId, ordinal++, JSON.stringify(value ?? {})]
        if (ordinal % 1000 === 0) onProgress?.(ordinal)
      }
    } catch (error) {
      // What could not be read at all is one more fault of the input, after those of the entries before it.
      if (!(error instanceof InputRefused)) throw error
      faults.push(...error.faults.slice(0, MAX_FAULTS - faults.length))
    }
    onProgress?.(ordinal)
  }
  const count = await writer.load('result_entry', ['run', 'ordinal', 'document'], rows())
  if (faults.length > 0) throw new InputRefused(faults)
  return count
}

function readEntry({ file, line, value }: SourceRecord): { value?: unknown; faults: Fault[] } {
  const reading = readShape(value)
  return {
    value: reading.value,
    faults: reading.faults.map(({ field, message }) => ({
      file,
      line,
      ...(field === '' ? {} : { field }),
      message,
    })),
  }
}
