import type { Mutation } from './mutation.ts'

const AFTER_RESTORE = 'test/commands.after-restore.test.ts'
const QUEUE = 'test/jobs.queue.test.ts'
const SETTINGS = 'test/settings.test.ts'
const SETTINGS_FILE = 'test/commands.settings-file.test.ts'
const LIFECYCLE = 'test/lifecycle.test.ts'
const LOG = 'test/log.test.ts'
const IMPORT = 'test/system/commands.import.test.ts'
const DATES = 'test/catalogue.dates.test.ts'
const KEYS = 'test/system/commands.keys.test.ts'

export default [
  {
    fault: 'what was erased is not erased again after a restore, unless a log names it',
    file: 'src/submissions/retention/erasures.ts',
    text: 'replaced === undefined ? [] : await listDeleted(replaced)',
    replacement: '[]',
    test: AFTER_RESTORE,
  },
  {
    fault: 'a suspension is not repeated after a restore',
    file: 'src/operate/after-restore.ts',
    text: '    await storeSuspension(restored, { eid, reason })\n',
    replacement: '',
    test: AFTER_RESTORE,
  },
  {
    fault: 'a resumed organisation is suspended again after a restore',
    file: 'src/operate/after-restore.ts',
    text: "event === 'resumed' && eid !== undefined",
    replacement: "event === 'resumed' && eid === undefined",
    test: AFTER_RESTORE,
  },
  {
    fault: 'a restored database that was cut off is accepted',
    file: 'src/operate/after-restore.ts',
    text: 'assertIntact(pathOf(url))',
    replacement: 'pathOf(url)',
    test: AFTER_RESTORE,
  },
  {
    fault: 'a job that a worker holds can be claimed by another',
    file: 'src/foundation/jobs/queue.ts',
    text: '(worker is null or lease < $1)',
    replacement: '(worker is null or lease > $1)',
    test: QUEUE,
  },
  {
    fault: 'a job whose lease has ended is never claimed again',
    file: 'src/foundation/jobs/queue.ts',
    text: '(worker is null or lease < $1)',
    replacement: '(worker is null and lease < $1)',
    test: QUEUE,
  },
  {
    fault: 'a worker finishes a job that another has claimed since',
    file: 'src/foundation/jobs/queue.ts',
    text: "'delete from job where id = $1 and worker = $2'",
    replacement: "'delete from job where id = $1 and $2 <> \\'\\''",
    test: QUEUE,
  },
  {
    fault: 'a claim is not counted as an attempt',
    file: 'src/foundation/jobs/queue.ts',
    text: 'attempts = attempts + 1',
    replacement: 'attempts = attempts',
    test: QUEUE,
  },
  {
    fault: 'a job is claimed before it is due',
    file: 'src/foundation/jobs/queue.ts',
    text: 'and due <= $1 and (worker',
    replacement: 'and (worker',
    test: QUEUE,
  },
  {
    fault: 'invalid settings do not stop the start',
    file: 'src/settings.ts',
    text: '  if (faults.length > 0) throw new SettingsRefused(faults)\n',
    replacement: '',
    test: SETTINGS,
  },
  {
    fault: 'only the first fault of the settings is reported',
    file: 'src/settings.ts',
    text: 'throw new SettingsRefused(faults)',
    replacement: 'throw new SettingsRefused(faults.slice(0, 1))',
    test: SETTINGS,
  },
  {
    fault: 'the list of settings shows passwords in URLs',
    file: 'src/settings.ts',
    text: 'secret ? hidePassword(value) : value',
    replacement: 'value',
    test: SETTINGS,
  },
  {
    fault: 'the list of settings shows encryption keys',
    file: 'src/settings.ts',
    text: "secret === 'whole' && value !== '' ? '***' : secret",
    replacement: 'secret',
    test: SETTINGS,
  },
  {
    fault: 'the settings file overrides the environment',
    file: 'src/settings-file.ts',
    text: '{ ...values, ...Object.fromEntries(set) }',
    replacement: '{ ...Object.fromEntries(set), ...values }',
    test: SETTINGS_FILE,
  },
  {
    fault: 'what was started first ends first',
    file: 'src/foundation/lifecycle.ts',
    text: 'this.#ends.push(',
    replacement: 'this.#ends.unshift(',
    test: LIFECYCLE,
  },
  {
    fault: 'the log shows the keys that a library writes',
    file: 'src/api/telemetry/log.ts',
    text: '(mahi_[0-9a-f]{12})_[\\w-]{43}|',
    replacement: '(mahi_[0-9a-f]{12})_[\\w-]{53}|',
    test: LOG,
  },
  {
    fault: 'the log shows the submission tokens that a library writes',
    file: 'src/api/telemetry/log.ts',
    text: '|(\\/submissions\\/)[^/"?\\s]+/g',
    replacement: '|(\\/submission\\/)[^/"?\\s]+/g',
    test: LOG,
  },
  {
    fault: '--dry-run stores the records',
    file: 'src/catalogue/import/command.ts',
    text: 'dryRun: dryRun === true,',
    replacement: 'dryRun: false,',
    test: IMPORT,
  },
  {
    fault: '--keep-dates is ignored',
    file: 'src/catalogue/import/import.ts',
    text: '(this.#keepDates ? rendered.ownDate : undefined) ?? this.#date',
    replacement: 'this.#date',
    test: DATES,
  },
  {
    fault: 'an import without a valid date of each record keeps dates',
    file: 'src/catalogue/import/import.ts',
    text: 'this.#keepDates ? findDateFault(rendered.ownDate) : undefined',
    replacement: 'undefined',
    test: DATES,
  },
  {
    fault: 'an import with a repeated code stores its records',
    file: 'src/catalogue/import/import.ts',
    text: '  staging.faults.add(await findRepeatedCodes(writer, staging.locateLater))\n',
    replacement: '',
    test: IMPORT,
  },
  {
    fault: 'an expired key is listed as valid',
    file: 'src/api/access/key-commands.ts',
    text: "expires <= Date.now() ? 'expired'",
    replacement: "expires <= 0 ? 'expired'",
    test: KEYS,
  },
  {
    fault: 'a backup replaces the database that it copies',
    file: 'src/operate/backup.ts',
    text: 'if (taken !== undefined)',
    replacement: 'if (taken === undefined && written.length === 0)',
    test: 'test/commands.backup-target.test.ts',
  },
  {
    fault: 'a worker claims jobs that it has no handler for',
    file: 'src/foundation/jobs/worker.ts',
    text: 'kinds.filter((kind) => handlers[kind] !== undefined)',
    replacement: 'kinds.filter((kind) => kind !== undefined)',
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'a misspelt setting is ignored',
    file: 'src/settings.ts',
    text: '  faults.push(...findMisspelt(environment))\n',
    replacement: '',
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'what a key is refused counts for its organisation',
    file: 'src/api/access/limits.ts',
    text: "  assertAllowed(counting, request, limit, own, 'requests')\n",
    replacement: '',
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'an organisation is served before the suspensions have been read',
    file: 'src/api/access/access-state.ts',
    text: 'if (this.#suspended === undefined)\n      throw',
    replacement: "if (eid === '')\n      throw",
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'a counter falls to nothing while it cannot be read',
    file: 'src/api/telemetry/metrics.ts',
    text: 'if (value === undefined) return\n',
    replacement: '',
    test: 'test/access.failures.test.ts',
  },

  // The database.
  {
    fault: 'a commit is acknowledged before it is on the disk',
    file: 'src/foundation/database/sqlite.ts',
    text: "connection.pragma('synchronous = full')",
    replacement: "connection.pragma('synchronous = normal')",
    test: 'test/database.transactions.test.ts',
  },
  {
    fault: 'a migration continues after a statement that fails',
    file: 'src/foundation/database/migrate.ts',
    text: 'await writer.run(statement)\n',
    replacement: 'await writer.run(statement).catch(() => undefined)\n',
    test: 'test/database.migrations.test.ts',
  },
  {
    fault: 'a record with a title in te reo Māori only counts as one without a title',
    file: 'src/catalogue/records/record.ts',
    text: 'record.titleEnglish !== undefined || record.titleMaori !== undefined,',
    replacement: 'record.titleEnglish !== undefined,',
    test: IMPORT,
  },
  {
    fault: 'a list of faults that is cut off does not say so',
    file: 'src/foundation/faults/faults.ts',
    text: 'export const MAX_FAULTS = 100',
    replacement: 'export const MAX_FAULTS = 101',
    test: IMPORT,
  },
  {
    fault: 'a suspended organisation keeps the runs that wait',
    file: 'src/submissions/runs/run-job.ts',
    text: 'if (await isSuspended(database, run.eid))',
    replacement: 'if (run.eid === undefined)',
    test: 'test/access.suspension.test.ts',
  },
  {
    fault: 'a stop cuts off a reader that is slow',
    file: 'src/api/serving/connections.ts',
    text: '    while (this.#isBeingRead()) await sleep(SWEEP_INTERVAL)\n',
    replacement: '',
    test: 'test/http.connections.test.ts',
  },
] satisfies Mutation[]
