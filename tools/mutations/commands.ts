import type { Mutation } from './mutation.ts'

const RESTORE = 'test/commands.restore.test.ts'
const QUEUE = 'test/jobs.queue.test.ts'
const SETTINGS = 'test/settings.test.ts'
const SETTINGS_FILE = 'test/commands.settings-file.test.ts'
const LIFECYCLE = 'test/lifecycle.test.ts'
const LOG = 'test/log.test.ts'
const IMPORT = 'test/system/commands.import.test.ts'
const KEYS = 'test/system/commands.keys.test.ts'

export default [
  {
    fault: 'restore replaces a database that has submissions, without --replace',
    file: 'src/operate/restore.ts',
    text: "['occupation', 'submission', 'api_key']",
    replacement: "['occupation', 'api_key']",
    test: RESTORE,
  },
  {
    fault: 'restore replaces a database that has keys, without --replace',
    file: 'src/operate/restore.ts',
    text: "['occupation', 'submission', 'api_key']",
    replacement: "['occupation', 'submission']",
    test: RESTORE,
  },
  {
    fault: 'restore never asks for --replace',
    file: 'src/operate/backup-commands.ts',
    text: 'replace: flags.replace === true,',
    replacement: 'replace: true,',
    test: RESTORE,
  },
  {
    fault: 'a restore leaves the database as it was',
    file: 'src/operate/restore.ts',
    text: '    await copyPages(beside, path)\n',
    replacement: '',
    test: RESTORE,
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
    test: IMPORT,
  },
  {
    fault: 'an import without a valid date of each record keeps dates',
    file: 'src/catalogue/import/import.ts',
    text: 'this.#keepDates ? findDateFault(rendered.ownDate) : undefined',
    replacement: 'undefined',
    test: IMPORT,
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
    file: 'src/api/access/commands.ts',
    text: 'expires <= Date.now() ?',
    replacement: 'expires <= 0 ?',
    test: KEYS,
  },
  {
    fault: '--dry-run revokes the keys',
    file: 'src/api/access/change-commands.ts',
    text: 'flags.dryRun ? listKeys(database) : revokeKeys',
    replacement: 'false ? listKeys(database) : revokeKeys',
    test: KEYS,
  },
] satisfies Mutation[]
