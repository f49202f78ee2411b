import { type Audit, REFUSAL_REASONS } from '../api/access/audit.ts'
import { EXPIRING_DAYS } from '../api/access/keys.ts'
import { withScope } from '../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../api/contract/contract.ts'
import { describeDocument } from '../api/contract/describe.ts'
import { count, listOf, strings, text, time } from '../api/contract/fields.ts'
import { document } from '../api/contract/results.ts'
import type { Database } from '../foundation/database/database.ts'
import { Type } from '../foundation/schema/type.ts'
import { formatKnown, formatTimestamp } from '../foundation/text/timestamp.ts'
import { listUnreplaced, readState } from './state.ts'

const counts = (description: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, number>>({
      type: 'object',
      description,
      additionalProperties: { type: 'integer', minimum: 0 },
    }),
  )

const OverviewKey = Type.Object(
  {
    id: text('The public part of the key.'),
    client: text('The client that holds it.'),
    scopes: strings('Its scopes.'),
    eids: strings('The organisations that it may act for.'),
    created: time('When it was created.'),
    expires: time('When it expires.'),
    revoked: time('When it was revoked.'),
    used: time('When it was last used, to about a minute; absent if it never was.'),
  },
  { title: 'OverviewKey', description: 'An API key, without its secret.' },
)

const OverviewJobs = Type.Object(
  {
    kind: text('The kind of job.'),
    waiting: count('Jobs that are due and that no worker holds.'),
    running: count('Jobs that workers hold.'),
    oldest: time('When the longest waiting job was queued.'),
  },
  { title: 'OverviewJobs', description: 'The queued jobs of one kind.' },
)

const Overview = Type.Object(
  {
    version: text('The version of the service.'),
    database: text('The URL of the database, without its password.'),
    submissions: counts('Submissions by status.'),
    runs: counts('Validation runs by status.'),
    jobs: listOf(OverviewJobs, 'The queue.'),
    keys: listOf(OverviewKey, 'All keys.'),
    expiringKeys: count(
      `Valid keys that expire within ${EXPIRING_DAYS} days and that no other key replaces, without those of sessions.`,
    ),
    refusals: counts('Refused credentials by reason, since this process started.'),
  },
  { title: 'Overview', description: 'What an operator sees at a glance.' },
)

const EXAMPLE = {
  version: '1.0.0',
  database: 'sqlite:var/mahi.db',
  submissions: { Open: 3 },
  runs: { Processed: 12 },
  jobs: [{ kind: 'run', waiting: 1, running: 1, oldest: '2026-01-31T09:30:00.000Z' }],
  keys: [
    {
      id: 'mahi_0123456789ab',
      client: 'demo',
      scopes: ['occupations:read'],
      eids: ['9999'],
      created: '2026-06-30T23:59:59.000Z',
      expires: '2027-06-30T23:59:59.000Z',
    },
  ],
  expiringKeys: 0,
  refusals: { expired: 2 },
}

/** Shows an operator the state of the service; only a credential with the scope `operate` may see it. */
export function getOverview(database: Database, audit: Pick<Audit, 'refusals'>): Operation {
  const operating = operationsOf({ tag: 'Operation', access: withScope('operate'), limit: 'submissions' })
  return operating({
    name: 'overview',
    id: 'getOverview',
    summary: 'Show the state of the service',
    description: 'The queue, the keys without their secrets, and counts, for operators.',
    method: 'GET',
    path: '/overview',
    responses: { 200: describeDocument(Overview, 'The state.', EXAMPLE) },
  }).handle(async () => {
    const state = await readState(database)
    const { version, submissions, runs, jobs, keys } = state
    return document({
      version,
      database: state.database,
      submissions: { ...submissions },
      runs: { ...runs },
      jobs: jobs.map(({ kind, waiting, running, queued }) => ({
        kind,
        waiting,
        running,
        oldest: formatKnown(queued),
      })),
      keys: keys.map(({ id, client, scopes, eids, created, expires, revoked, used }) => ({
        id,
        client,
        scopes: [...scopes],
        eids: [...eids],
        created: formatTimestamp(created),
        expires: formatTimestamp(expires),
        revoked: formatKnown(revoked),
        used: formatKnown(used),
      })),
      expiringKeys: listUnreplaced(state).length,
      refusals: Object.fromEntries(
        REFUSAL_REASONS.map((reason) => [reason, audit.refusals[reason]] as const).filter(
          ([, number]) => number > 0,
        ),
      ),
    })
  })
}
