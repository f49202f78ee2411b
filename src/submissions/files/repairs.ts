import { actorOf } from '../../api/access/principal.ts'
import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { count, flag, listOf, strings, text } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import { Problem } from '../../api/request/problems.ts'
import { type Rendered, type Static, Type } from '../../foundation/schema/type.ts'
import type { Cause } from '../submission/cause.ts'
import { ofSubmission, REFUSALS, TOKEN_PATH } from '../submission/contract.ts'
import { EXAMPLE_FILE } from '../submission/example.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { renderFile } from '../submission/render.ts'
import { readFinished } from '../submission/runs.ts'
import { SubmissionFile, SubmissionFiles } from '../submission/schema.ts'
import { assertOpen, findOwn, type SubmissionRow } from '../submission/submission.ts'
import { type Copy, findCopy } from './copies.ts'
import { hasEtag, readEtags } from './file-headers.ts'
import type { FileJob } from './file-job.ts'
import { ACCEPTED } from './file-work.ts'
import type { RepairList } from './repair-list.ts'
import { listPrevious, undoRepair } from './undo.ts'
import { type Caller, MAX_WAIT, preferHeader } from './wait.ts'

const RepairExample = Type.Object(
  {
    line: count('The line of the record before the repair, from 1; absent for the file as a whole.'),
    before: text('The value, the name of the column, or the row before.'),
    after: text('The same after; empty for a row that is removed.'),
  },
  { title: 'RepairExample', description: 'A change of a repair.' },
)

const Repair = Type.Object(
  {
    file: text('The file, as in URLs.'),
    field: text('The field; absent for rows and for the file as a whole.'),
    why: text('Why the change is certain, or why what is left is not.'),
    records: count(
      'How many values, names of columns, rows or files it is about. Of a field in `left`, only the values that would have a repair if the reason did not hold: others of the column may be as wrong.',
    ),
    examples: listOf(RepairExample, 'The first changes that differ, three at most.'),
    clears: strings('The keys of those causes of its field that disappear with the repair.'),
  },
  { title: 'Repair', description: 'Changes of one kind in one file.' },
)

const Repairs = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    changes: count('The number of changes; 0 if nothing has only one possible repair.'),
    repairs: listOf(Repair, 'The changes by kind.'),
    left: listOf(Repair, 'What is left as it is, because it is not certain.'),
    causes: count('The causes of the current check; absent if it did not read the current files.'),
    clears: strings('The keys of those causes that disappear with the repair.'),
    causesLeft: count('The causes that a check of the repaired files finds.'),
    etag: text('Identifies the state of the files, as `ETag` does. Send it as If-Match.'),
    undoable: flag('Whether the last repair can be undone: the files have not changed since.'),
    files: listOf(SubmissionFile, 'The files that were repaired.'),
  },
  { title: 'Repairs', description: 'What a repair changes in the files of a submission.' },
)

const EXAMPLE: Static<typeof Repairs> = {
  submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
  changes: 1500,
  causes: 16,
  clears: ['column:enrolments.courseStartDate:day-month-year'],
  causesLeft: 15,
  repairs: [
    {
      file: 'enrolments',
      field: 'courseStartDate',
      why: 'The dates of the column are written day first.',
      records: 1500,
      examples: [{ line: 2, before: '17/02/2025', after: '2025-02-17' }],
      clears: ['column:enrolments.courseStartDate:day-month-year'],
    },
  ],
  left: [],
  etag: '"files-3"',
  undoable: true,
  files: [EXAMPLE_FILE],
}

const PROBLEMS = {
  'no-such-file': 'The submission has no files.',
  ...REFUSALS,
  unavailable: 'Too many jobs are queued.',
} as const

/** Identifies the state of all files. */
const etagOf = (revision: number) => `"files-${revision}"`

const ETAG = {
  etag: { description: 'Identifies the state of the files. Send it as If-Match.', type: 'string' },
} as const

const PATH = '/submissions/{submissionToken}/repairs'

export function repairOperations(options: SubmissionOptions): readonly Operation[] {
  const { database } = options
  const { reading, writing } = ofSubmission(database)
  return [
    reading({
      name: 'get-repairs',
      id: 'getRepairs',
      summary: 'Preview the repair of the files',
      description:
        'What a repair of the current files would change: every fault with only one possible repair, by whole columns. Nothing changes. A worker finds it out: the response is 202 if that takes longer than the caller waits.',
      method: 'GET',
      path: PATH,
      request: { path: TOKEN_PATH, header: preferHeader(MAX_WAIT) },
      responses: { 202: ACCEPTED, 200: describeDocument(Repairs, 'The repair.', EXAMPLE, ETAG) },
      problems: PROBLEMS,
    }).handle(({ authorized, ...caller }) =>
      answer(options, caller, authorized, { work: 'preview', resource: null }),
    ),
    writing({
      name: 'repair-files',
      id: 'repairFiles',
      summary: 'Repair the files',
      description:
        'Replaces files by new versions in which every fault with only one possible repair is corrected, as `mahi check --fix` does. A column that contradicts itself stays as it is. If `changes` is 0, there was nothing to repair, and nothing has changed. Request a validation run afterwards. The response is 202 if a worker needs longer than the caller waits.',
      method: 'POST',
      path: PATH,
      request: {
        path: TOKEN_PATH,
        header: Type.Object({
          ...preferHeader(MAX_WAIT).properties,
          'If-Match': text(
            'The ETag of the preview: the files are repaired only if they are still the same.',
            {
              maxLength: 4000,
            },
          ),
        }),
      },
      responses: { 202: ACCEPTED, 200: describeDocument(Repairs, 'What was repaired.', EXAMPLE, ETAG) },
      problems: {
        ...PROBLEMS,
        'precondition-failed': 'The files have changed since the preview.',
      },
    }).handle(({ authorized, ...caller }) => {
      const wanted = readEtags(caller.header['If-Match'])
      const admit = (submission: SubmissionRow) => {
        assertOpen(submission)
        if (wanted !== undefined && !hasEtag(wanted, etagOf(submission.revision)))
          throw new Problem(
            'precondition-failed',
            'The files have changed since the preview. Look at it again.',
          )
      }
      return answer(options, caller, authorized, { work: 'repair', resource: null, admit })
    }),
    writing({
      name: 'undo-repairs',
      id: 'undoRepairs',
      summary: 'Undo the last repair',
      description:
        'Restores the files as they were before the last repair. That is possible until a file changes or the submission is submitted.',
      method: 'DELETE',
      path: PATH,
      request: { path: TOKEN_PATH },
      responses: { 200: describeDocument(SubmissionFiles, 'The restored files.', { files: [EXAMPLE_FILE] }) },
      problems: {
        ...REFUSALS,
        conflict: `${REFUSALS.conflict} Or there is no repair to undo.`,
      },
    }).handle(async ({ authorized: { token, eid, definition }, principal }) => {
      const restored = await undoRepair(database, { token, eid, actor: actorOf(principal) })
      return document({ files: restored.map((file) => renderFile(options, definition, file)) })
    }),
  ]
}

/** What a repair changes, or where that will be. */
async function answer(options: SubmissionOptions, caller: Caller, submission: SubmissionRow, copy: Copy) {
  const { pending, job, content } = await findCopy(options, caller, submission, copy)
  if (job === undefined) return pending
  const list = await readList(content)
  const { token, definition } = submission
  const files = job.files ?? []
  // What was repaired is of the files before, which nobody can repair again.
  const etag = etagOf(files.length > 0 ? job.revision + 1 : job.revision)
  return document(
    {
      submissionToken: token,
      changes: list.changes,
      ...renderRepairs(list, await findCauses(options, job)),
      etag,
      undoable: (await listPrevious(options.database, token)).length > 0,
      files: job.work === 'repair' ? files.map((file) => renderFile(options, definition, file)) : undefined,
    },
    { etag },
  )
}

async function readList(content: AsyncIterable<Buffer>): Promise<RepairList> {
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece)
  return JSON.parse(Buffer.concat(pieces).toString()) as RepairList
}

/** The causes of the current run, if it read the files that the work is about. */
async function findCauses(
  { database, sealer }: SubmissionOptions,
  { token, eid, revision }: FileJob,
): Promise<readonly Cause[] | undefined> {
  const { run: current = 0 } = (await findOwn(database, eid, token)) ?? {}
  const { run, summary } = (await readFinished(database, current, sealer)) ?? {}
  return run?.revision === revision ? summary?.causes : undefined
}

type LeftCause = NonNullable<RepairList['causes']>[number]

/** Those that disappear: what is left of a cause of several columns has another key, and codes of the cause. */
export function findCleared<Each extends LeftCause>(
  before: readonly Each[],
  after: readonly LeftCause[],
): Each[] {
  const known = new Set(before.map(({ key }) => key))
  const remaining = new Set(after.map(({ key }) => key))
  const rest = new Set(after.flatMap(({ key, codes }) => (known.has(key) ? [] : codes)))
  return before.filter(({ key, codes }) => !remaining.has(key) && !codes.some((code) => rest.has(code)))
}

function renderRepairs(
  { groups, left, causes: after }: RepairList,
  before: readonly Cause[] | undefined,
): Rendered<typeof Repairs> {
  const cleared = after && before && findCleared(before, after)
  const keysOf = ({ file, field }: { file: string; field?: string }) =>
    cleared
      ?.filter((cause) => cause.field === field && cause.file?.replace(/\.[a-z]+$/, '') === file)
      .map(({ key }) => key)
  return {
    repairs: groups.map(({ count, ...group }) => ({ ...group, records: count, clears: keysOf(group) })),
    left: left.map(({ line, count, ...group }) => ({ ...group, records: count, examples: [{ line }] })),
    causes: before?.length,
    clears: cleared?.map(({ key }) => key),
    causesLeft: after?.length,
  }
}
