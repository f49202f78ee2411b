import type { Mutation } from './mutation.ts'

const TARGET = 'test/commands.backup-target.test.ts'
const JOBS = 'test/jobs.queue.test.ts'
const SETTINGS = 'test/settings.test.ts'
const FAILURES = 'test/access.failures.test.ts'

export default [
  // Backup and restore
  {
    fault: 'restore replaces a database that has submissions, without --replace',
    file: 'src/operate/restore.ts',
    text: "['occupation', 'submission', 'api_key']",
    replacement: "['occupation', 'api_key']",
    test: TARGET,
  },
  {
    fault: 'restore replaces a database that has keys, without --replace',
    file: 'src/operate/restore.ts',
    text: "['occupation', 'submission', 'api_key']",
    replacement: "['occupation', 'submission']",
    test: TARGET,
  },
  {
    fault: 'a backup replaces the database that it copies',
    file: 'src/operate/backup.ts',
    text: 'if (taken !== undefined)',
    replacement: 'if (taken === undefined && written.length === 0)',
    test: TARGET,
  },
  // Jobs
  {
    fault: 'a job is claimed by two workers',
    file: 'src/foundation/jobs/queue.ts',
    text: 'and due <= $1 and (worker is null or lease < $1)`',
    replacement: 'and due <= $1 and (worker is null or lease <> $1)`',
    test: JOBS,
  },
  {
    fault: 'a job whose worker is gone is never claimed again',
    file: 'src/foundation/jobs/queue.ts',
    text: 'and (worker is null or lease < $1)`',
    replacement: 'and worker is null`',
    test: JOBS,
  },
  {
    fault: 'a worker that has lost a job stores its result',
    file: 'src/foundation/jobs/queue.ts',
    text: "'delete from job where id = $1 and worker = $2', [id, worker])) === 1",
    replacement: "'delete from job where id = $1 and worker = $2', [id, worker])) >= 0",
    test: JOBS,
  },
  {
    fault: 'a job that is due later is done at once',
    file: 'src/foundation/jobs/queue.ts',
    text: 'and due <= $1 and',
    replacement: 'and due - due <= $1 and',
    test: JOBS,
  },
  {
    fault: 'a worker claims jobs that it has no handler for',
    file: 'src/foundation/jobs/worker.ts',
    text: 'kinds.filter((kind) => handlers[kind] !== undefined)',
    replacement: 'kinds.filter((kind) => kind !== undefined)',
    test: FAILURES,
  },
  // Settings
  {
    fault: 'only the first fault of the settings is reported',
    file: 'src/settings.ts',
    text: 'if (faults.length > 0) throw new SettingsRefused(faults)',
    replacement: 'if (faults.length > 0) throw new SettingsRefused(faults.slice(0, 1))',
    test: SETTINGS,
  },
  {
    fault: 'the password in a URL is shown',
    file: 'src/settings.ts',
    text: ': secret ? hidePassword(value) : value',
    replacement: ': value',
    test: SETTINGS,
  },
  {
    fault: 'the value of a secret setting is repeated in its fault',
    file: 'src/settings.ts',
    text: "${secret || !message.startsWith('must') ? '' : `, not ${JSON.stringify(text)}`}",
    replacement: "${!message.startsWith('must') ? '' : `, not ${JSON.stringify(text)}`}",
    test: SETTINGS,
  },
  {
    fault: 'a misspelt setting is ignored',
    file: 'src/settings.ts',
    text: '  faults.push(...findMisspelt(environment))\n',
    replacement: '',
    test: FAILURES,
  },
  // Limits and metrics
  {
    fault: 'what a key is refused counts for its organisation',
    file: 'src/api/access/count-request.ts',
    text: "    assertAllowed(counting, request, limit, verdict, 'requests')\n    return whenKnown(",
    replacement: '    return whenKnown(',
    test: FAILURES,
  },
  {
    fault: 'an organisation is served before the suspensions have been read',
    file: 'src/api/access/access-watch.ts',
    text: 'if (this.#suspended === undefined)',
    replacement: "if (eid === '')",
    test: FAILURES,
  },
  {
    fault: 'a counter falls to nothing while it cannot be read',
    file: 'src/api/telemetry/metrics.ts',
    text: 'if (value === undefined) return\n',
    replacement: '',
    test: FAILURES,
  },
] satisfies Mutation[]
