import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import type { Client } from '../../client/src/index.ts'
import type { ResultsSummary, Submission, SubmissionFile, ValidationRun } from '../../client/src/types.ts'
import { COMMAND } from '../api/access/actor.ts'
import type { CheckedInput } from '../engines/checking/index.ts'
import {
  describePartial,
  describeSpare,
  groupByField,
  groupByReason,
  tabulateCauses,
} from '../engines/checking/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import type { Database } from '../foundation/database/database.ts'
import type { Sealer } from '../foundation/database/seal.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { escapeControls } from '../foundation/text/quote.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { cancelSubmission } from '../submissions/retention/ending.ts'
import type { RecordErasure } from '../submissions/retention/erasures.ts'
import { enqueuePurge } from '../submissions/retention/purge.ts'
import { findByToken, listAll, readState, type SubmissionState } from '../submissions/submission.ts'
import {
  compareSent,
  describeComparison,
  describeOthers,
  hasAllSent,
  listChanged,
  listOthers,
  type SentFiles,
} from './checked-files.ts'
import { findConsolePage } from './console-page.ts'
import { adviseResumption, describeNextSteps, fetchCommand, type Sending } from './next-steps.ts'
import { followRun } from './run-progress.ts'
import { askService, openClient } from './service.ts'

interface SubmitFlags {
  url: string
  eid: string
  return: string
  definition: string
  file?: string[]
  wait?: true
  json?: true
}

/** Adds `submit`, which uploads files to a service. */
export function addSubmitCommand(program: Command, apiKey: string | undefined): void {
  program
    .command('submit')
    .description('upload files to a service for validation; the key comes from MAHI_API_KEY')
    .argument('[paths...]', 'a folder with the files, files, a ZIP archive or a workbook')
    .requiredOption('--url <url>', 'the URL of the service, such as https://careers.example')
    .requiredOption('--eid <eid>', 'the identifier of the organisation')
    .requiredOption('--return <id>', 'the return, such as 202512')
    .option('--definition <definition>', 'the definition that assigns the files by their names', 'sdr')
    .option('--file <name=file...>', 'which file is which, such as enrolments=SDR_2025.csv')
    .option('--wait', 'wait for the validation, show what to fix, and exit 1 if there are errors')
    .addOption(jsonOption)
    .action(
      action(async (paths: string[], flags: SubmitFlags) => {
        if (paths.length === 0 && flags.file === undefined)
          throw new UserError('Name a folder with the files to submit, or the files.')
        const { Containers, findDefinition, loadDefinition } = await import('../engines/checking/index.ts')
        const definition = loadDefinition(findDefinition(flags.definition))
        const containers = new Containers()
        try {
          const opened = await containers.openArchives(paths)
          const { files, unread, spare, notes } = await containers.select(opened, definition, flags.file)
          for (const note of notes) say(`Note: ${note}`)
          for (const { name, resource } of unread)
            say(
              `${name} was not sent: ${resource === undefined ? `it is not a file of ${definition.name}` : `rename it to ${resource}.csv`}.`,
            )
          for (const each of spare) say(describeSpare(each))
          const client = openClient(flags.url, flags.eid, apiKey)
          const sending: Sending = { stage: 'creating', received: [] }
          await askService(flags.url, () => submitFiles(client, files, definition.name, flags, sending), {
            onAway: () => adviseResumption(sending, flags),
          })
        } finally {
          await containers.remove()
        }
      }),
    )
}

async function submitFiles(
  { submissions }: Client,
  files: readonly CheckedInput[],
  definition: string,
  flags: SubmitFlags,
  sending: Sending,
): Promise<void> {
  const { submissionToken: token } = await submissions.create({ returnId: flags.return, definition })
  sending.token = token
  sending.stage = 'sending'
  const sent = new Map<string, SubmissionFile>()
  for (const file of files) {
    if (!('path' in file)) continue
    const { path, name, resource } = file
    const content = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>
    const stored = await submissions.putFile(token, resource, content, {
      format: /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) ? 'ndjson' : 'csv',
      gzip: /\.gz$/i.test(name),
    })
    sending.received.push(name)
    sent.set(resource, stored)
    if (!flags.json) say(`${name}: ${count(stored.records ?? 0, 'record')}.`)
    for (const note of stored.notes ?? []) if (!flags.json) say(`Note: ${name}: ${note}`)
  }
  sending.stage = 'requesting'
  const requested = await submissions.validate(token)
  const { runId } = requested
  sending.stage = 'waiting'
  // Asked now, because the service may be away when the page is needed.
  const found = findConsolePage(flags.url, token, flags.eid)
  sending.page = found
  if (flags.wait !== true) {
    const { status } = requested
    const page = await found
    const compared = compareSent(requested, sent)
    const { notChecked } = compared
    const summary = { submissionToken: token, runId, status, notChecked, console: page }
    const place = { url: flags.url, eid: flags.eid, token }
    const text = [
      `Run ${runId} of submission ${token} is ${status}.`,
      ...describeComparison(compared, requested),
      ...(notChecked.length === 0
        ? [`When it has ended, see the result with: ${fetchCommand(place)}`]
        : ['Run the same command again with --wait, which has a run read the files that it sends.']),
      ...(page === undefined ? [] : [`Console: ${page}`]),
    ]
    await report(flags, summary, text.join('\n'))
    return
  }
  const wait = async (number: number) => {
    const onProgress = flags.json === true ? undefined : followRun(say)
    const run = await submissions.waitForRun(token, number, { onProgress })
    return { run, submission: await submissions.get(token) }
  }
  let ended = await wait(runId)
  while (isOutdated(ended, sent)) {
    if (flags.json !== true)
      say(`The files have changed since run ${ended.run.runId} was requested. They are validated again.`)
    sending.stage = 'requesting'
    const again = await submissions.validate(token)
    sending.stage = 'waiting'
    ended = await wait(again.runId)
  }
  sending.stage = 'ended'
  await reportRun(submissions, { token, ...ended, sent, page: await found }, flags)
}

/** A run that has ended, and the state of its submission since. */
interface Ended {
  readonly run: ValidationRun
  readonly submission: Submission
}

/**
 * Whether another run must read what was sent: while a run is queued or in progress, a request for another one returns it,
 * although it reads the files of its own request.
 */
function isOutdated({ run, submission }: Ended, sent: SentFiles): boolean {
  const isOpen = ['Pending', 'Validating', 'Validated'].includes(submission.submissionStatus ?? '')
  const { late } = compareSent(run, sent)
  return run.status === 'Processed' && isOpen && late.length > 0 && hasAllSent(submission, sent)
}

async function reportRun(
  submissions: Client['submissions'],
  {
    token,
    run,
    submission,
    sent,
    page,
  }: Ended & { token: string; sent: SentFiles; page: string | undefined },
  flags: SubmitFlags,
): Promise<void> {
  if (run.status !== 'Processed') {
    throw new UserError(`the validation ended as ${run.status}: ${run.reason ?? 'no reason was given'}`)
  }
  const { errorCount = 0, warningCount = 0 } = run
  const summary = await submissions.summary(token)
  const { causes } = await submissions.causes(token)
  const alsoChecked = listOthers(run, submission, sent)
  const compared = compareSent(run, sent)
  const { notChecked } = compared
  const changed = listChanged(run, submission)
  const isOwn = notChecked.length === 0 && hasAllSent(submission, sent)
  if (errorCount > 0 || !isOwn) process.exitCode = 1
  if (flags.json === true) {
    const files = { alsoChecked, notChecked, changed }
    const found = { ...summary, runId: run.runId, causes, ...files, console: page }
    await writeOut(`${JSON.stringify(found)}\n`)
    return
  }
  const place = { url: flags.url, eid: flags.eid, token }
  // Who has not sent what was checked is not led to submit it.
  const next = isOwn
    ? await describeNextSteps(submissions, place, run, submission, summary)
    : [
        'Agree with the others who send files of this return, then run the same command again to send all of yours.',
      ]
  const lines = causes === undefined ? listCodes(summary) : tabulateCauses(causes)
  for (const line of lines) await writeOut(`${escapeControls(line)}\n`)
  for (const each of listPartial(summary)) say(each)
  const notRun = (summary.notRun ?? []).map(({ errorCode: code = '', reason = '' }) => ({ code, reason }))
  for (const each of groupByReason(notRun)) say(each)
  const undecided = (summary.undecided ?? []).map(
    ({ errorCode: code = '', file = '', field = '', records = 0 }) => ({ code, file, field, records }),
  )
  for (const each of groupByField(undecided)) say(each)
  for (const each of describeOthers(alsoChecked)) say(each)
  for (const each of describeComparison(compared, run)) say(each)
  if (changed.length > 0) say(`Changed since run ${run.runId} was requested: ${changed.join(', ')}.`)
  const counts = `${count(errorCount, 'error')} and ${count(warningCount, 'warning')}`
  say(`Submission ${token}, run ${run.runId}: ${counts}.`)
  if (page !== undefined) say(`Console: ${page}`)
  for (const each of next) say(each)
}

/** Findings without causes: a run that a command published. */
function listCodes({ codes = [] }: ResultsSummary): string[] {
  return codes.map(
    ({ errorCode = '', errorType = '', count: findings = 0, first }) =>
      `${formatNumber(findings).padStart(7)}  ${errorType.padEnd(7)}  ${errorCode.padEnd(20)}  ${first?.errorDescription ?? ''}`,
  )
}

/** One sentence for each code of which not all findings are stored. */
export function listPartial({ codes = [] }: ResultsSummary): string[] {
  return codes.flatMap(({ errorCode = '', count: findings = 0, stored = findings }) =>
    describePartial(errorCode, stored, findings),
  )
}

/** Adds the commands for submissions that access the database directly, and returns their group. */
export function addSubmissionCommands(
  program: Command,
  withDatabase: WithDatabase,
  openSealer: (database: Database) => Promise<Sealer>,
  recordErasure: () => RecordErasure,
): Command {
  const submissions = program
    .command('submissions')
    .description('list, show, delete, purge, reencrypt, explain and submit submissions')

  submissions
    .command('list')
    .description('list submissions, newest first, without their data')
    .option('--eid <eid>', 'only those of one organisation')
    .addOption(jsonOption)
    .action(
      action(async ({ eid, json }: { eid?: string; json?: true }) => {
        const rows = await withDatabase(async (database) => {
          const described: ReturnType<typeof describe>[] = []
          for (const row of await listAll(database, eid))
            described.push(describe(await readState(database, row)))
          return described
        })
        if (json) return writeOut(`${JSON.stringify({ submissions: rows })}\n`)
        for (const { submissionToken, eid: of, returnId, submissionStatus, dateCreated } of rows) {
          const columns = [submissionToken, of, returnId, submissionStatus, dateCreated]
          await writeOut(`${columns.join('  ')}\n`)
        }
        if (rows.length === 0) say('There are no submissions.')
      }),
    )

  submissions
    .command('show')
    .description('show the state of a submission, its files and its last run, without their data')
    .argument('<token>', 'the token of the submission')
    .addOption(jsonOption)
    .action(
      action(async (token: string) => {
        const found = await withDatabase(async (database) => {
          return await readState(database, await findByToken(database, token))
        })
        const { files, lastRun } = found
        const shown = {
          ...describe(found),
          files: files.map(({ resource, records, bytes, sha256, received }) => ({
            file: resource,
            records,
            bytes,
            sha256,
            received: formatTimestamp(received),
          })),
          ...(lastRun !== undefined && {
            validationRun: {
              runId: lastRun.number,
              status: lastRun.status,
              errorCount: lastRun.errors,
              warningCount: lastRun.warnings,
              reason: lastRun.reason,
            },
          }),
        }
        await writeOut(`${JSON.stringify(shown, null, 2)}\n`)
      }),
    )

  submissions
    .command('delete')
    .description('cancel a submission; its data is unreadable at once, and a worker deletes it')
    .argument('<token>', 'the token of the submission')
    .addOption(jsonOption)
    .action(
      action(async (token: string, flags: { json?: true }) => {
        const { eid } = await withDatabase(async (database) => {
          const submission = await findByToken(database, token)
          return await cancelSubmission(database, { ...submission, actor: COMMAND }, recordErasure())
        })
        const summary = { submissionToken: token, eid, submissionStatus: 'Cancelled' }
        await report(flags, summary, 'The submission is cancelled. A worker deletes its data.')
      }),
    )

  submissions
    .command('purge')
    .description('delete the data of cancelled submissions now, without a worker')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const purged = await withDatabase(async (database) => {
          const { purgeNow } = await import('../submissions/retention/purge.ts')
          for (const { token, eid, ended, purged } of await listAll(database))
            if (ended === 'Cancelled' && purged === null) await enqueuePurge(database, eid, token)
          return await purgeNow(database)
        })
        await report(
          flags,
          { purged },
          `${count(purged, 'job')} done. The data of cancelled submissions is deleted.`,
        )
      }),
    )

  submissions
    .command('reencrypt')
    .description('encrypt files and findings with the first of ENCRYPTION_KEYS, while the service runs')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const { reencrypt } = await import('../submissions/encryption/reencrypt.ts')
        const summary = await withDatabase(async (database) =>
          reencrypt(database, await openSealer(database)),
        )
        const { key, files, runs, left } = summary
        const done = `Encrypted ${count(files, 'file')} and ${count(runs, 'run')} again. The key "${key}" encrypts `
        const rest = `all but ${formatNumber(left)} files or runs, which were being written. Run the command again.`
        await report(flags, summary, done + (left === 0 ? 'everything.' : rest))
      }),
    )
  return submissions
}

function describe({ token, eid, returnId, status, created, published }: SubmissionState) {
  return {
    submissionToken: token,
    eid,
    returnId,
    submissionStatus: status satisfies Submission['submissionStatus'],
    dateCreated: formatTimestamp(created ?? published),
  }
}
