import type { Operation } from '../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../api/contract/describe.ts'
import { count, listOf, oneOf, strings, text, time } from '../api/contract/fields.ts'
import { stream } from '../api/contract/results.ts'
import { describeFaults, Problem } from '../api/request/problems.ts'
import { type Static, Type } from '../foundation/schema/type.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { actor, EXAMPLE_ACTOR } from './explanations/schema.ts'
import { ACTIVITY_EVENTS, type ActivityRow, listActivity, readActivity } from './submission/activity.ts'
import { ofSubmission, TOKEN_PATH } from './submission/contract.ts'
import type { SubmissionOptions } from './submission/options.ts'
import { findPages, PAGE_QUERY, pageFields, sendPage } from './submission/paging.ts'

const NDJSON = 'application/x-ndjson'

const Activity = Type.Object(
  {
    time: time('When it was done.'),
    event: oneOf(
      ACTIVITY_EVENTS,
      'What was done. RecordsChanged and Downloaded stand for all similar ones of the same minute. Expired: what is kept no longer was deleted. Purged: nothing of the data of a deleted submission is left in the database.',
    ),
    actor: actor(),
    file: text(
      'The file, as in URLs; `findings`, `marked-files` or `corrected-files` for a download of those.',
    ),
    runId: count('The validation run.'),
    records: count('Records of the file that was uploaded, repaired or restored.'),
    changes: count('Changes of a repair in the file.'),
    digestBefore: text('SHA-256 of the file before a repair or its undoing, in hexadecimal.'),
    digestAfter: text('SHA-256 of the file after it.'),
    errorCount: count('Errors that the run found.'),
    warningCount: count('Warnings that the run found.'),
    stoppedCount: count('Checks that were stopped, and that the submission needs.'),
    reopened: count('Explanations that the run reopened, because it found more than they explain.'),
    codes: strings('The codes that were explained.'),
    reason: text('The reason of an explanation, or why the submission was reopened.'),
    receipt: count('The number of the receipt.'),
    until: text('Until when a reopened submission can be changed.'),
    files: count('Files that were deleted.'),
    findings: count('Findings that were deleted.'),
  },
  { title: 'Activity', description: 'Something that was done with a submission.' },
)

const ActivityPage = Type.Object(
  pageFields(listOf(Activity, 'The activities, newest first.'), 'All activities.'),
  { title: 'ActivityPage', description: 'A page of what was done with a submission.' },
)

const EXAMPLE: Static<typeof ActivityPage> = {
  page: 1,
  pageSize: 20,
  results: [
    { time: '2026-01-15T22:12:00.000Z', event: 'Submitted', actor: EXAMPLE_ACTOR, receipt: 1 },
    {
      time: '2026-01-15T22:10:05.100Z',
      event: 'Checked',
      actor: EXAMPLE_ACTOR,
      runId: 1,
      errorCount: 0,
      warningCount: 3,
    },
    {
      time: '2026-01-15T22:09:58.000Z',
      event: 'FileUploaded',
      actor: EXAMPLE_ACTOR,
      file: 'learners',
      records: 400,
    },
  ],
  totalCount: 3,
}

export function listSubmissionActivity({ database }: SubmissionOptions): Operation {
  const { reading } = ofSubmission(database)
  return reading({
    name: 'list-activity',
    id: 'listSubmissionActivity',
    summary: 'List what was done with a submission',
    description:
      'Who created, uploaded, repaired, checked, explained, submitted, reopened, deleted or downloaded what, newest first. It is kept as long as the record of the submission, also after its data was deleted, and contains no data of learners. As `application/x-ndjson`, the whole list is streamed.',
    method: 'GET',
    path: '/submissions/{submissionToken}/activity',
    accepts: ['application/json', NDJSON],
    request: { path: TOKEN_PATH, query: PAGE_QUERY },
    responses: { 200: describeActivity() },
  }).handle(async ({ authorized: { token }, query, accepted, received }) => {
    if (accepted === NDJSON) {
      const faults = findPages(received)
      if (faults.length > 0) throw new Problem('invalid-parameters', ...describeFaults(faults))
      return stream(
        `${NDJSON}; charset=utf-8`,
        renderLines(readActivity(database, token)),
        { 'content-disposition': 'attachment; filename="activity.ndjson"' },
        { compressible: true },
      )
    }
    const { rows, totalCount } = await listActivity(database, token, query)
    return sendPage(`/submissions/${token}/activity`, query, {
      results: rows.map(renderActivity),
      totalCount,
    })
  })
}

function describeActivity() {
  const described = describeDocument(ActivityPage, 'A page of activities.', EXAMPLE, {
    ...NEXT_LINK,
    'content-disposition': { description: 'The name of the file, with NDJSON.', type: 'string' },
  })
  const whole = { schema: { type: 'string', description: 'All activities, one JSON object on each line.' } }
  return { ...described, content: { ...described.content, [NDJSON]: whole } }
}

async function* renderLines(rows: AsyncIterable<ActivityRow>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(renderActivity(row))}\n`
}

function renderActivity({ time, event, actor, actorName, file, detail }: ActivityRow): object {
  return {
    time: formatTimestamp(time),
    event,
    actor: { id: actor, name: actorName },
    file: file ?? undefined,
    ...(JSON.parse(detail) as object),
  }
}
