import { type Actor, SERVICE } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database, Reader, Value, Writer } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { showEnd } from '../../foundation/text/zoned-time.ts'
import { recordActivity } from './activity.ts'
import { changeSubmission, lockSubmission, type SubmissionName, type SubmissionWriter } from './lock.ts'
import { RUN_COLUMNS, type Run, type RunFile, type RunRow, toRun } from './runs.ts'
import { createToken } from './token.ts'

export const SUBMISSION_STATUSES = [
  'Pending',
  'Validating',
  'Validated',
  'Submitted',
  'Cancelled',
  'Closed',
] as const
type SubmissionStatus = (typeof SUBMISSION_STATUSES)[number]
export const SUBMISSION_TYPES = ['Full', 'Indicative'] as const
export type SubmissionType = (typeof SUBMISSION_TYPES)[number]

/** The ids of returns. */
export const RETURN_ID = {
  pattern: /^[!-~]{1,64}$/,
  rule: 'at most 64 visible ASCII characters without spaces',
}

/** A stored submission. */
export interface SubmissionRow {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  /** `null` for a submission that was published by a command. */
  readonly created: number | null
  readonly definition: string | null
  readonly type: SubmissionType | null
  /** When the submission becomes read-only, in milliseconds since 1970. */
  readonly expires: number | null
  readonly ended: 'Submitted' | 'Cancelled' | null
  readonly endedAt: number | null
  /** Incremented with each change of the files. */
  readonly revision: number
  /** The number of the current run; 0 or a number without a row if there is none. */
  readonly run: number
  /** The number of findings of the current run that are stored. */
  readonly totalCount: number
  /** When the current run was published, in milliseconds since 1970. */
  readonly published: number
  /** Until when a submission that was opened again can be changed, whatever its return says. */
  readonly reopenedUntil: number | null
  /** When its return closes, and in which time zone that is shown; `null` if the service does not know the return. */
  readonly closes: number | null
  readonly zone: string | null
  /** The name and the notes of its return, and when that is due; `null` if the service does not know the return. */
  readonly returnName: string | null
  readonly returnNotes: string | null
  readonly due: number | null
}

/** The current state of a file. */
export interface FileState extends RunFile {
  readonly received: number
  /** The id of the key that hashes the `localId`s of batches. */
  readonly sealed: string | null
  /** What was guessed about the upload, as a JSON list of sentences, encrypted: see `notes.ts`. */
  readonly notes: string | null
}

/** A submission with all data of its status. */
export interface SubmissionState extends SubmissionRow {
  readonly status: SubmissionStatus
  readonly files: readonly FileState[]
  /** The run in progress, or the latest one. */
  readonly lastRun: Run | undefined
}

const SUBMISSION: Columns<Omit<SubmissionRow, keyof typeof RETURN>> = {
  token: 'token',
  eid: 'eid',
  returnId: 'return_id',
  created: 'created',
  definition: 'definition',
  type: 'type',
  expires: 'expires',
  ended: 'ended',
  endedAt: 'ended_at',
  revision: 'revision',
  run: 'run',
  totalCount: 'total',
  published: 'published',
  reopenedUntil: 'reopened_until',
}

/** What its return says about a submission. */
const RETURN = {
  closes: 'closes',
  zone: 'zone',
  returnName: 'name',
  returnNotes: 'notes',
  due: 'due',
} as const

/** The columns, the order and the tables of submissions. */
const COLUMNS = [select('s', SUBMISSION), select('c', RETURN)].join(', ')
const NEWEST_FIRST = 'coalesce(s.created, s.published) desc, s.token'
const TABLES = 'submission s left join collected_return c on c.return_id = s.return_id'

const FILE: Columns<FileState> = {
  resource: 'resource',
  version: 'version',
  format: 'format',
  chunks: 'chunks',
  batches: 'batches',
  records: 'records',
  bytes: 'size',
  sha256: 'digest',
  received: 'received',
  sealed: 'sealed',
  notes: 'notes',
}

const SUBMISSION_NAMES = Object.keys({ ...SUBMISSION, ...RETURN })
const FILE_NAMES = Object.keys(FILE)

/** The column for each property of a row. */
type Columns<Row> = Readonly<Record<keyof Row & string, string>>

/** @param prefix begins the names of the properties in the result */
function select(table: string, columns: Readonly<Record<string, string>>, prefix = ''): string {
  return Object.entries(columns)
    .map(([property, column]) => `${table}.${column} as "${prefix}${property}"`)
    .join(', ')
}

/** The properties that were selected with a prefix. */
function pick<Row>(row: Readonly<Record<string, unknown>>, names: readonly string[], prefix = ''): Row {
  const picked: Record<string, unknown> = {}
  for (const name of names) picked[name] = row[prefix + name]
  return picked as Row
}

/**
 * Finds an organisation's submission by its token. One of another organisation takes as long as one that does not exist:
 * in both cases the database returns no row.
 *
 * @param eid the organisation, if the caller may act for it, otherwise an empty string
 */
export async function findOwn(
  reader: Reader,
  eid: string,
  token: string,
): Promise<SubmissionRow | undefined> {
  return await reader.get<SubmissionRow>(
    // The expression around the organisation keeps the planner of PostgreSQL from its index, which it may choose while it
    // has no statistics: the refusal of a token would then take longer, the more submissions the organisation has.
    `select ${COLUMNS} from ${TABLES} where s.token = $1 and s.eid || '' = $2`,
    // PostgreSQL accepts no NUL in text; another character that no token contains has the same result.
    [token.replaceAll('\0', '\ufffd'), eid],
  )
}

/** Finds a submission by its token only, for the agency. */
export async function findAny(reader: Reader, token: string): Promise<SubmissionRow | undefined> {
  return await reader.get<SubmissionRow>(`select ${COLUMNS} from ${TABLES} where s.token = $1`, [
    token.replaceAll('\0', '\ufffd'),
  ])
}

/** Selects submissions with the data of their status: a row for each file, or one without a file. */
const selectStates = (condition: string) => `select ${COLUMNS},
    ${select('v', FILE, 'file.')},
    ${select('r', Object.fromEntries(RUN_COLUMNS.map((name) => [name, name])), 'run.')}
  from ${TABLES}
  left join submission_file f on f.token = s.token
  left join file_version v on v.version = f.version
  left join submission_run r on r.token = s.token
    and r.number = (select max(number) from submission_run where token = s.token)
  where ${condition} order by ${NEWEST_FIRST}, v.resource`

const STATE = selectStates('s.token = $1 and s.eid = coalesce($2, s.eid)')
const STATES = selectStates(
  `s.token in (select s.token from submission s where s.eid = $1 order by ${NEWEST_FIRST} limit $2 offset $3)`,
)

type StateRow = SubmissionRow & Readonly<Record<string, unknown>>

/** @param rows of one submission, one at least */
function toState(rows: readonly StateRow[]): SubmissionState {
  const [first] = rows as [StateRow]
  const files = rows
    .map((row) => pick<FileState>(row, FILE_NAMES, 'file.'))
    .filter(({ version }) => version !== null)
  const lastRun = first['run.run'] === null ? undefined : toRun(pick<RunRow>(first, RUN_COLUMNS, 'run.'))
  const submission = pick<SubmissionRow>(first, SUBMISSION_NAMES)
  return { ...submission, status: statusOf(submission, lastRun), files, lastRun }
}

/** Reads the current state of a submission that was found before. */
export async function readState(reader: Reader, submission: SubmissionRow): Promise<SubmissionState> {
  const state = await findState(reader, submission)
  // Only retention removes a submission, after it was cancelled and purged.
  return state ?? { ...submission, status: 'Cancelled', files: [], lastRun: undefined }
}

/** Reads a submission with the data of its status, in one statement: all of it is of the same moment. */
export async function findState(
  reader: Reader,
  { token, eid }: SubmissionName,
): Promise<SubmissionState | undefined> {
  return (await selectSubmissions(reader, STATE, [token, eid]))[0]
}

/** Finds a submission by its token only, for the operator. */
export async function findByToken(reader: Reader, token: string): Promise<SubmissionState> {
  const [found] = await selectSubmissions(reader, STATE, [token, null])
  if (found === undefined)
    throw new UserError('no submission has this token. "mahi submissions list" lists all submissions')
  return found
}

/** All submissions, newest first, for the operator. */
export async function listAll(reader: Reader, eid?: string): Promise<SubmissionState[]> {
  return await selectSubmissions(reader, selectStates('s.eid = coalesce($1, s.eid)'), [eid ?? null])
}

/** A page of an organisation's submissions, newest first. */
export async function listSubmissions(
  reader: Reader,
  eid: string,
  { page, pageSize }: { page: number; pageSize: number },
): Promise<{ submissions: SubmissionState[]; totalCount: number }> {
  const total = await reader.get<{ total: number }>(
    'select count(*) as total from submission where eid = $1',
    [eid],
  )
  const submissions = await selectSubmissions(reader, STATES, [eid, pageSize, (page - 1) * pageSize])
  return { submissions, totalCount: total?.total ?? 0 }
}

async function selectSubmissions(
  reader: Reader,
  statement: string,
  values: readonly Value[],
): Promise<SubmissionState[]> {
  const rows = await reader.all<StateRow>(statement, values)
  return [...Map.groupBy(rows, ({ token }) => token).values()].map(toState)
}

export async function listFiles(reader: Reader, token: string): Promise<FileState[]> {
  return await reader.all<FileState>(
    `select ${select('v', FILE)} from submission_file f join file_version v on v.version = f.version
     where f.token = $1 order by v.resource`,
    [token],
  )
}

function statusOf(submission: SubmissionRow, lastRun: Run | undefined): SubmissionStatus {
  if (submission.ended !== null) return submission.ended
  if (lastRun?.status === 'Queued' || lastRun?.status === 'InProgress') return 'Validating'
  if (isExpired(submission) || isClosed(submission)) return 'Closed'
  const current = lastRun === undefined || lastRun.run === submission.run
  const covered = lastRun === undefined || lastRun.revision === submission.revision
  return submission.published > 0 && current && covered ? 'Validated' : 'Pending'
}

function isExpired({ expires }: SubmissionRow): boolean {
  return expires !== null && expires <= Date.now()
}

/** Whether its return has closed, and the agency has not opened the submission again. */
function isClosed({ closes, reopenedUntil }: SubmissionRow): boolean {
  const now = Date.now()
  return closes !== null && closes <= now && (reopenedUntil ?? 0) <= now
}

/** When it can no longer be changed: when its return closes or it expires, whichever comes first. */
export function changeableUntil({ expires, closes, reopenedUntil }: SubmissionRow): number | null {
  if (closes === null || expires === null) return expires
  return Math.min(expires, Math.max(closes, reopenedUntil ?? 0))
}

/** @throws {Problem} unless the files of the submission can be changed */
export function assertOpen(submission: SubmissionRow): void {
  if (submission.ended === 'Cancelled') throw cancelled()
  if (submission.ended === 'Submitted')
    throw new Problem('conflict', 'The submission was submitted and can no longer be changed.')
  if (submission.created === null)
    throw new Problem(
      'conflict',
      'The results of this submission are published by a command, so it has no files.',
    )
  const { closes, zone, returnId } = submission
  if (closes !== null && isClosed(submission))
    throw new Problem(
      'conflict',
      `Return ${returnId} closed ${showEnd(closes, zone ?? 'UTC')}. Ask the agency for a later closing date.`,
    )
  if (isExpired(submission))
    throw new Problem('conflict', 'The submission has expired. Create a new one for the return.')
}

/** @throws {Problem} `gone` if it was cancelled */
export function assertKept({ ended }: Pick<SubmissionRow, 'ended'>): void {
  if (ended === 'Cancelled') throw cancelled()
}

export function cancelled(): Problem {
  return new Problem('gone', 'The submission was cancelled, and its data was deleted.')
}

/** Another change is in the way. */
export function overtaken(detail: string, headers: Readonly<Record<string, string>> = {}): Problem {
  return new Problem('conflict', detail, { members: { errorCode: 'DS1' }, headers })
}

/**
 * Changes an existing submission in a transaction that holds its lock. `work` gets its state under that lock, which
 * may no longer be the one that the caller was authorized with.
 *
 * @throws {Problem} if it no longer exists
 */
export async function withSubmission<T>(
  database: Database,
  { token, eid }: SubmissionName,
  work: (writer: SubmissionWriter, submission: SubmissionState) => Promise<T>,
): Promise<T> {
  return await changeSubmission(database, token, async (writer) => {
    const submission = await findState(writer, { token, eid })
    if (submission === undefined) throw cancelled()
    return await work(writer, submission)
  })
}

/** Milliseconds after which a submission expires. */
const LIFE = 90 * 86_400_000

export interface NewSubmission {
  readonly eid: string
  readonly returnId: string
  /** The name of the definition to check against. */
  readonly definition: string
  readonly type?: SubmissionType
  readonly actor?: Actor
  /** The token to use; generated if absent. */
  readonly token?: string
}

/** Creates a submission, or returns the organisation's open one for the same return. */
export async function createSubmission(
  database: Database,
  { eid, returnId, definition, type = 'Full', token = createToken(), actor = SERVICE }: NewSubmission,
): Promise<{ submission: SubmissionState; created: boolean }> {
  return await database.write(`return:${eid}/${returnId}`, async (transaction) => {
    const open = await findOpen(transaction, eid, returnId)
    if (open !== undefined) return { submission: open, created: false }
    const writer = await lockSubmission(transaction, token)
    const now = Date.now()
    await writer.run(
      `insert into submission (token, eid, return_id, run, total, published, definition, type, created, expires)
       values ($1, $2, $3, 0, 0, 0, $4, $5, $6, $7)`,
      [token, eid, returnId, definition, type, now, now + LIFE],
    )
    await carryOver(writer, { token, eid, returnId })
    await recordActivity(writer, { token, event: 'Created', actor })
    const submission = await findState(writer, { token, eid })
    if (submission === undefined) throw new Error('the submission that was just stored is missing')
    return { submission, created: true }
  })
}

/** Gives a new submission the explanations of the organisation's last one for the same return. */
async function carryOver(
  writer: SubmissionWriter,
  { token, eid, returnId }: SubmissionName & { returnId: string },
): Promise<void> {
  await writer.run(
    `insert into submission_explanation (token, id, document, sealed)
     select $1, id, document, sealed from submission_explanation where token = (
       select token from submission where eid = $2 and return_id = $3 and token <> $1
         and created is not null and coalesce(ended, '') <> 'Cancelled'
       order by created desc, token limit 1)`,
    [token, eid, returnId],
  )
}

/** Under the lock of the return, no other submission of it can be created; an open one can end until it is locked. */
export async function findOpen(
  transaction: Writer,
  eid: string,
  returnId: string,
): Promise<SubmissionState | undefined> {
  for (;;) {
    const found = await transaction.get<{ token: string }>(
      `select token from submission
       where eid = $1 and return_id = $2 and created is not null and ended is null and expires > $3
       order by created desc limit 1`,
      [eid, returnId, Date.now()],
    )
    if (found === undefined) return undefined
    const writer = await lockSubmission(transaction, found.token)
    const submission = await findState(writer, { ...found, eid })
    if (submission?.ended === null) return submission
  }
}

/** Counts the submissions by state: open, ended, or published by a command. */
export async function countSubmissions(reader: Reader): Promise<Record<string, number>> {
  const rows = await reader.all<{ state: string; count: number }>(
    `select case when ended is not null then ended when created is null then 'Published' else 'Open' end as state,
       count(*) as count from submission group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}
