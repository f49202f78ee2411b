import { readFileSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import { createKey, listKeys, revokeKey } from './access/keys.ts'
import { SCOPES, type Scope } from './access/principal.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import { DEMO_DATABASE_URL, describeDemo, prepareDemo } from './demo.ts'
import { InputRefused, refuse } from './input/faults.ts'
import { readRecords } from './input/read-records.ts'
import type { SourceRecord } from './input/source-record.ts'
import { countFields } from './occupations/coverage.ts'
import { exportOccupations, OCCUPATION_COLUMNS } from './occupations/export.ts'
import { type ImportSummary, importOccupations } from './occupations/import.ts'
import { ONET_ATTRIBUTION, readOnet } from './occupations/onet.ts'
import { startServer, stopOnSignal } from './server.ts'
import { listSettings, readSettings } from './settings.ts'
import { Progress, reportFailure, say, writeOut } from './terminal.ts'
import { formatTimestamp, parseTimestamp } from './timestamp.ts'
import { ENTRY_COLUMNS, publishResults } from './validation-results/publish.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const program = new Command('mahi')
  .description('An occupation catalogue and the validation results of data submissions, over HTTP.')
  .version(version)
  .showHelpAfterError('(mahi --help lists the commands)')
  .showSuggestionAfterError()
const jsonOption = new Option('--json', 'print one JSON object, for machines')

program
  .command('serve')
  .description('bring the database up to date, then serve it')
  .option('--host <address>', 'address to listen on (HOST)')
  .option('--port <number>', 'port to listen on (PORT)')
  .action(
    command(async ({ host, port }: { host?: string; port?: string }) => {
      const settings = readSettings({
        ...process.env,
        ...(host && { HOST: host }),
        ...(port && { PORT: port }),
      })
      stopOnSignal(await startServer(settings))
    }),
  )

program
  .command('demo')
  .description('serve a sample catalogue and a sample submission from a database of their own')
  .action(
    command(async () => {
      const environment = {
        LOG_LEVEL: 'warn',
        METRICS_PORT: '0',
        ...process.env,
        DATABASE_URL: DEMO_DATABASE_URL,
      }
      const settings = readSettings(environment)
      const demo = await prepareDemo()
      const server = await startServer(settings)
      stopOnSignal(server)
      await writeOut(describeDemo(demo, server.url))
    }),
  )

const occupations = program.command('occupations').description('import and export the occupation catalogue')

interface ImportFlags {
  replace?: true
  dryRun?: true
  keepDates?: true
  json?: true
}

function withImportOptions(subcommand: Command): Command {
  return subcommand
    .option('--replace', 'delete the records that the input does not hold')
    .option('--dry-run', 'tell what would change, and change nothing')
    .option('--keep-dates', 'store the lastUpdatedDate that each record carries')
    .addOption(jsonOption)
}

withImportOptions(occupations.command('import'))
  .description('import records from JSON, NDJSON or CSV files, also gzip; - is standard input')
  .argument('<file...>')
  .action(
    command(async (files: string[], flags: ImportFlags) => {
      const progress = new Progress(files, 'records')
      const records = readRecords(files, { columns: OCCUPATION_COLUMNS, onBytes: progress.onBytes })
      const summary = await runImport(records, flags, progress)
      await report(flags, summary, describeImport(summary, flags))
    }),
  )

withImportOptions(occupations.command('import-onet'))
  .description('import the O*NET text release, with pay from the OEWS wages')
  .argument('<folder>', 'the unpacked text release')
  .option('--wages <file>', 'the national OEWS estimates, as CSV')
  .action(
    command(async (folder: string, flags: ImportFlags & { wages?: string }) => {
      const coverage = countFields(readOnet(folder, flags.wages === undefined ? {} : { wages: flags.wages }))
      const progress = new Progress([], 'records')
      const summary = await runImport(coverage.records, flags, progress)
      const lines = coverage
        .fields()
        .map(({ field, records }) => `  ${String(records).padStart(6)}  ${field}`)
      await report(
        flags,
        {
          ...summary,
          fields: Object.fromEntries(coverage.fields().map(({ field, records }) => [field, records])),
        },
        [
          'Records on which each field is present:',
          ...lines,
          describeImport(summary, flags),
          ONET_ATTRIBUTION,
        ].join('\n'),
      )
    }),
  )

occupations
  .command('export')
  .description('write the whole catalogue to standard output')
  .addOption(
    new Option('--format <format>', 'form of the output').choices(['ndjson', 'csv']).default('ndjson'),
  )
  .action(
    command(async ({ format }: { format: 'ndjson' | 'csv' }) => {
      const count = await withDatabase((database) => exportOccupations(database, format, writeOut))
      say(`Exported ${count} records.`)
    }),
  )

program
  .command('results')
  .description('publish validation results')
  .command('publish')
  .description('store a complete run from an NDJSON, JSON or CSV file and make it current; prints the token')
  .requiredOption('--eid <eid>', 'the organisation that made the submission')
  .requiredOption('--return <id>', 'the return that the submission belongs to')
  .option('--token <token>', 'the token of the submission; without it a new submission is made')
  .addOption(jsonOption)
  .argument('<file>', '- is standard input')
  .action(
    command(async (file: string, flags: { eid: string; return: string; token?: string; json?: true }) => {
      const progress = new Progress([file], 'entries')
      const entries = readRecords([file], { columns: ENTRY_COLUMNS, onBytes: progress.onBytes })
      const summary = await withDatabase((database) =>
        publishResults(database, entries, {
          eid: flags.eid,
          returnId: flags.return,
          ...(flags.token === undefined ? {} : { token: flags.token }),
          onProgress: progress.onRecords,
          onWait: sayWaiting,
        }),
      ).finally(() => progress.stop())
      if (!flags.json) say(`Published run ${summary.runId}: ${summary.totalCount} entries.`)
      await writeOut(`${flags.json ? JSON.stringify(summary) : summary.submissionToken}\n`)
    }),
  )

const keys = program.command('keys').description('make, list and revoke API keys')

keys
  .command('create')
  .description('make a key; it is shown once, and cannot be shown again')
  .requiredOption('--client <name>', 'who the key is for')
  .addOption(
    new Option('--scope <scope...>', 'what it may be used for (default: everything)').choices([...SCOPES]),
  )
  .option('--eid <eid...>', 'the organisations it may act for')
  .option(
    '--expires <when>',
    'a date such as 2027-06-30, a date-time, or never (default: in 12 months)',
    readExpiry,
  )
  .addOption(jsonOption)
  .action(
    command(
      async (flags: { client: string; scope?: Scope[]; eid?: string[]; expires?: number; json?: true }) => {
        checkKeyFlags(flags)
        const { key, id, client, scopes, eids, expires } = await withDatabase((database) =>
          createKey(database, {
            client: flags.client,
            ...(flags.scope === undefined ? {} : { scopes: flags.scope }),
            eids: flags.eid ?? [],
            expires: flags.expires ?? inTwelveMonths(),
          }),
        )
        if (!flags.json)
          say(`Key ${id} for ${client}, until ${formatTimestamp(expires)}. It is not shown again:`)
        const summary = { id, client, key, scopes, eids, expires: formatTimestamp(expires) }
        await writeOut(`${flags.json ? JSON.stringify(summary) : key}\n`)
      },
    ),
  )

keys
  .command('list')
  .description('list the keys, without what is secret about them')
  .addOption(jsonOption)
  .action(
    command(async (flags: { json?: true }) => {
      const rows = (await withDatabase(listKeys)).map(({ created, expires, revoked, ...rest }) => ({
        ...rest,
        created: formatTimestamp(created),
        expires: formatTimestamp(expires),
        revoked: revoked === null ? null : formatTimestamp(revoked),
        state: revoked !== null ? 'revoked' : expires <= Date.now() ? 'expired' : 'valid',
      }))
      if (flags.json) return writeOut(`${JSON.stringify({ keys: rows })}\n`)
      if (rows.length === 0) say('There are no keys. Make one with: mahi keys create --client NAME')
      for (const { id, state, expires, client, scopes, eids } of rows) {
        await writeOut(
          `${id}  ${state.padEnd(7)}  until ${expires.slice(0, 10)}  ${client}  ${scopes.join(' ')}  ${eids.length > 0 ? `EID ${eids.join(' ')}` : 'no EID'}\n`,
        )
      }
    }),
  )

keys
  .command('revoke')
  .description('end a key at once')
  .argument('<id>', 'its id, such as mahi_0123456789ab')
  .addOption(jsonOption)
  .action(
    command(async (id: string, flags: { json?: true }) => {
      // Whoever pastes the whole key means its id.
      const publicId = /^mahi_[0-9a-f]{12}/.exec(id)?.[0] ?? id
      const found = await withDatabase((database) => revokeKey(database, publicId))
      if (!found) refuse({ field: '<id>', message: `names no key: "mahi keys list" lists them` })
      await report(flags, { id: publicId, revoked: true }, `Key ${publicId} is revoked.`)
    }),
  )

program
  .command('migrate')
  .description('bring the tables of the database up to date')
  .addOption(jsonOption)
  .action(
    command(async (flags: { json?: true }) => {
      const address = await withDatabase(async (database) => database.address)
      await report(flags, { database: address, current: true }, `${address} is up to date.`)
    }),
  )

program
  .command('config')
  .description('list the settings, their values and where they come from')
  .addOption(jsonOption)
  .action(
    command(async (flags: { json?: true }) => {
      const list = listSettings(process.env)
      const lines = list.map(
        ({ name, value, source, meaning }) =>
          `${name.padEnd(30)} ${value.padEnd(24)} ${source === 'default' ? 'default    ' : 'environment'}  ${meaning}`,
      )
      await writeOut(flags.json ? `${JSON.stringify({ settings: list })}\n` : `${lines.join('\n')}\n`)
      readSettings(process.env)
    }),
  )

await program.parseAsync()

/** Makes an action whose failure is told in the user's terms. */
function command<Arguments extends unknown[]>(action: (...given: Arguments) => Promise<void>) {
  return async (...given: unknown[]): Promise<void> => {
    // Commander passes the arguments, the options and the command itself.
    const subcommand = given.at(-1) as Command
    try {
      await action(...(given as Arguments))
    } catch (error) {
      if (isClosedPipe(error)) return
      await reportFailure(error, subcommand.opts().json === true)
    }
  }
}

/** Whoever read the output has read enough, as `head` does. */
function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(readSettings(process.env).DATABASE_URL)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

async function report(flags: { json?: true }, summary: object, text: string): Promise<void> {
  if (flags.json) await writeOut(`${JSON.stringify(summary)}\n`)
  else say(text)
}

async function runImport(
  records: AsyncIterable<SourceRecord>,
  { replace, dryRun, keepDates }: ImportFlags,
  progress: Progress,
): Promise<ImportSummary> {
  return await withDatabase((database) =>
    importOccupations(database, records, {
      replace: replace === true,
      dryRun: dryRun === true,
      keepDates: keepDates === true,
      onProgress: progress.onRecords,
      onWait: sayWaiting,
    }),
  ).finally(() => progress.stop())
}

function describeImport(summary: ImportSummary, { dryRun }: ImportFlags): string {
  const { created, updated, unchanged, deleted, normalised, lastUpdatedDate } = summary
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged, ${deleted} deleted`
  const tidied = normalised === 0 ? '' : ` ${normalised} had text or empty fields that were normalised.`
  if (dryRun) return `Would be: ${counts}.${tidied} Nothing was changed.`
  return `${counts}.${lastUpdatedDate === undefined ? '' : ` Dated ${lastUpdatedDate}.`}${tidied}`
}

function sayWaiting(): void {
  say('Waiting for another import or publish to finish…')
}

function readExpiry(text: string): number {
  if (text === 'never') return Date.parse('9999-12-31T23:59:59.999Z')
  const timestamp = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59Z` : text)
  if (timestamp === undefined)
    throw new InvalidArgumentError('It should be a date such as 2027-06-30, or never.')
  if (timestamp.milliseconds <= Date.now()) throw new InvalidArgumentError('It lies in the past.')
  return timestamp.milliseconds
}

function inTwelveMonths(): number {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date.getTime()
}

function checkKeyFlags({ client, eid = [] }: { client: string; eid?: string[] }): void {
  const faults = [
    ...(/^[!-~]{1,64}$/.test(client)
      ? []
      : [{ field: '--client', message: 'should be at most 64 visible ASCII characters without spaces' }]),
    ...eid.flatMap((each) =>
      /^[!-~]{1,64}$/.test(each)
        ? []
        : [
            {
              field: '--eid',
              message: `has ${JSON.stringify(each)}, and should be at most 64 visible ASCII characters without spaces`,
            },
          ],
    ),
  ]
  if (faults.length > 0) throw new InputRefused(faults)
}
