import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { MahiError } from '../../client/src/errors.ts'
import type { Client } from '../../client/src/index.ts'
import type { Repairs, SubmissionFile, ValidationRun } from '../../client/src/types.ts'
import { describeSpare, type InputFile } from '../engines/checking/index.ts'
import { createBoundedFetch } from '../foundation/bounded-fetch.ts'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { print, say, sayNote, writeOut } from '../foundation/command-line/terminal.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { dropEnd } from '../foundation/text/drop-end.ts'
import { count } from '../foundation/text/format-number.ts'
import { askService, openClient } from './service.ts'
import {
  compareSent,
  type Destination,
  describeNextSteps,
  describeNotChecked,
  describeRun,
  type Ended,
  fetchCommand,
  hasAllSent,
  type SentFiles,
  tabulateFindings,
} from './submit-report.ts'
import { describeSubmittedBefore } from './submitted-before.ts'

interface SubmitFlags {
  url: string
  eid: string
  return: string
  definition: string
  file?: string[]
  fix?: true
  wait?: true
  json?: true
}

/** How far `submit` has come. It changes while the command runs. */
interface Sending {
  stage: 'creating' | 'sending' | 'requesting' | 'waiting' | 'ended'
  /** The names of the files that have arrived. */
  readonly received: string[]
  /** The submission, once it is known. */
  token?: string
  /** The page of the submission in the console, if the service has the console; never rejects. */
  page?: Promise<string | undefined>
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
    .option('--fix', 'let the service repair what has only one possible repair, before the validation')
    .option(
      '--wait',
      'wait for the validation, show what to fix, and exit 1 if there are errors or a rule was stopped',
    )
    .addOption(jsonOption)
    .action(
      action(async (paths: string[], flags: SubmitFlags) => {
        if (paths.length === 0 && flags.file === undefined)
          throw new UserError('Name a folder with the files to submit, or the files.')
        const { Containers, describeUnreadable, findDefinition, loadDefinition, selectFiles } = await import(
          '../engines/checking/index.ts'
        )
        const definition = loadDefinition(findDefinition(flags.definition))
        const containers = new Containers()
        try {
          const opened = await containers.openArchives(paths)
          const { files, unread, spare, notes } = await selectFiles(
            containers,
            opened,
            definition,
            flags.file,
          )
          for (const note of notes) sayNote(note)
          for (const { name, faults = [] } of files)
            for (const { message } of faults) say(`${name}: ${message}`)
          for (const name of unread) say(`${name} was not sent: it is not a file of ${definition.name}.`)
          for (const each of spare) say(describeSpare(each))
          const unreadable = files.flatMap((each) => {
            const message = describeUnreadable(each)
            return message === undefined
              ? []
              : [{ file: each.name, message: `cannot be sent, so nothing was sent. It ${message}` }]
          })
          if (unreadable.length > 0) throw new UserError(unreadable)
          const { url, eid } = flags
          const { submissions } = openClient(url, { eid, apiKey, scope: 'submissions:write' })
          const sending: Sending = { stage: 'creating', received: [] }
          await askService(url, () => submitFiles(submissions, files, definition.name, flags, sending), {
            onAway: () => adviseResumption(sending, flags),
          })
        } finally {
          await containers.remove()
        }
      }),
    )
}

async function submitFiles(
  submissions: Client['submissions'],
  files: readonly InputFile[],
  definition: string,
  flags: SubmitFlags,
  sending: Sending,
): Promise<void> {
  const { submissionToken: token } = await submissions.create({ returnId: flags.return, definition })
  sending.token = token
  sending.stage = 'sending'
  const before = await describeSubmittedBefore(submissions, flags.return)
  if (before !== undefined)
    say(
      `Return ${flags.return} is already submitted: ${before}. This is another submission, which replaces it once it is submitted too.`,
    )
  const sent = await sendFiles(submissions, token, files, flags, sending)
  const repairs = flags.fix === true ? await repairSent(submissions, token, sent, flags) : undefined
  sending.stage = 'requesting'
  const requested = await onceRead(() => submissions.validate(token))
  sending.stage = 'waiting'
  const destination = { url: flags.url, eid: flags.eid, token }
  // Asked now, because the service may be away when the page is needed.
  const page = findConsolePage(destination)
  sending.page = page
  if (flags.wait === true) {
    const ended = await waitForSent(submissions, destination, requested, sent, flags, sending)
    await reportRun(submissions, destination, ended, sent, { repairs, console: await page }, flags, before)
  } else {
    await reportRequest(destination, requested, sent, { repairs, console: await page }, flags)
  }
}

async function sendFiles(
  submissions: Client['submissions'],
  token: string,
  files: readonly InputFile[],
  flags: SubmitFlags,
  { received }: Sending,
): Promise<Map<string, SubmissionFile>> {
  const sent = new Map<string, SubmissionFile>()
  for (const file of files) {
    const { path, name, resource } = file
    const content = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>
    const stored = await submissions.putFile(token, resource, content, {
      format: /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) ? 'ndjson' : 'csv',
      gzip: /\.gz$/i.test(name),
    })
    received.push(name)
    sent.set(resource, stored)
    if (flags.json) continue
    say(`${name}: ${count(stored.records ?? 0, 'record')}.`)
    for (const note of stored.notes ?? []) sayNote(`${name}: ${note}`)
  }
  return sent
}

/** What the output has besides the run. */
interface More {
  readonly repairs: Repairs['repairs']
  /** The page of the submission. */
  readonly console: string | undefined
}

/** Lets the service repair the files, lists what it does, and notes the files as they are then. */
async function repairSent(
  submissions: Client['submissions'],
  token: string,
  sent: Map<string, SubmissionFile>,
  { json }: SubmitFlags,
): Promise<Repairs['repairs']> {
  const { repairs, changes, files } = await onceRead(async () => {
    // What others have sent meanwhile is repaired, too.
    const { repairs = [], etag } = await submissions.repairs(token)
    const { changes = 0, files = [] } = await submissions.repair(token, { ifMatch: etag })
    return { repairs, changes, files }
  })
  for (const file of files) if (file.file !== undefined && sent.has(file.file)) sent.set(file.file, file)
  if (json === true) return repairs
  say(changes === 0 ? 'Nothing has only one possible repair.' : `Repaired: ${count(changes, 'change')}.`)
  for (const { file, field, why, records = 0 } of repairs)
    say(`${file}${field === undefined ? '' : `, ${field}`}: ${why} (${count(records, 'change')})`)
  return repairs
}

/** Asks once all files have been read that others are sending: the service refuses a run and a repair until then. */
async function onceRead<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof MahiError) || error.status !== 409 || error.retryAfter === undefined) throw error
      if (isFirst) say('Files of this submission are still being read or repaired. Waiting…')
      await sleep(error.retryAfter * 1000)
    }
  }
}

/**
 * Waits for the run, and for another one if the files have changed since it was requested: while a run is queued or in
 * progress, a request for another one returns it, although it reads the files of its own request.
 */
async function waitForSent(
  submissions: Client['submissions'],
  { token }: Destination,
  requested: ValidationRun & { runId: number },
  sent: SentFiles,
  flags: SubmitFlags,
  sending: Sending,
): Promise<Ended> {
  const options = { onProgress: flags.json === true ? undefined : followRun() }
  for (let { runId } = requested; ; ) {
    const run = await submissions.waitForRun(token, runId, options)
    const submission = await submissions.get(token)
    if (!isOutdated({ run, submission }, sent)) {
      sending.stage = 'ended'
      return { run, submission }
    }
    if (flags.json !== true)
      say(`The files have changed since run ${run.runId} was requested. They are validated again.`)
    sending.stage = 'requesting'
    runId = (await onceRead(() => submissions.validate(token))).runId
    sending.stage = 'waiting'
  }
}

/** Whether another run must read what was sent. */
function isOutdated({ run, submission }: Ended, sent: SentFiles): boolean {
  const isOpen = ['Pending', 'Validating', 'Validated'].includes(submission.submissionStatus ?? '')
  const { late } = compareSent(run, sent)
  return run.status === 'Processed' && isOpen && late.length > 0 && hasAllSent(submission, sent)
}

async function reportRequest(
  destination: Destination,
  run: ValidationRun,
  sent: SentFiles,
  more: More,
  flags: SubmitFlags,
): Promise<void> {
  const { token } = destination
  const { runId, status } = run
  const { notChecked } = compareSent(run, sent)
  const text = [
    `Run ${runId} of submission ${token} is ${status}.`,
    ...describeNotChecked(run, sent),
    notChecked.length === 0
      ? `When it has ended, see the result with: ${fetchCommand(destination)}`
      : 'Run the same command again with --wait, which has a run read the files that it sends.',
    ...(more.console === undefined ? [] : [`Console: ${more.console}`]),
  ]
  const summary = { submissionToken: token, runId, status, notChecked, ...more }
  await report(flags, summary, text.join('\n'))
}

async function reportRun(
  submissions: Client['submissions'],
  destination: Destination,
  ended: Ended,
  sent: SentFiles,
  more: More,
  flags: SubmitFlags,
  before: string | undefined,
): Promise<void> {
  const { run } = ended
  if (run.status !== 'Processed')
    throw new UserError(`the validation ended as ${run.status}: ${run.reason ?? 'no reason was given'}`)
  const summary = await submissions.summary(destination.token)
  const { causes = [], note } = await submissions.causes(destination.token)
  const { files, isOwn, lines } = describeRun(ended, sent, summary)
  if ((run.errorCount ?? 0) > 0 || run.stoppedCount !== undefined || !isOwn) process.exitCode = 1
  if (flags.json === true) {
    const found = { ...summary, runId: run.runId, causes, ...files, ...more }
    await writeOut(`${JSON.stringify(found)}\n`)
    return
  }
  for (const line of tabulateFindings(summary, note === undefined ? causes : undefined))
    await print(`${line}\n`)
  for (const line of lines) say(line)
  const counts = `${count(run.errorCount ?? 0, 'error')} and ${count(run.warningCount ?? 0, 'warning')}`
  say(`Submission ${destination.token}, run ${run.runId}: ${counts}.`)
  if (more.console !== undefined) say(`Console: ${more.console}`)
  // Who has not sent what was checked is not led to submit it.
  const next = isOwn
    ? await describeNextSteps(submissions, destination, ended, summary, before)
    : [
        'Agree with the others who send files of this return, then run the same command again to send all of yours.',
      ]
  for (const line of next) say(line)
}

/**
 * Says how far a run is, from the states that are seen of it: one line for each stage, and one for each file that has
 * been read.
 */
function followRun(): (run: ValidationRun) => void {
  const said = new Set<string>()
  const once = (key: string, line: string) => {
    if (said.has(key)) return
    said.add(key)
    say(line)
  }
  return ({ status, progress }) => {
    if (status === 'Queued') once('queued', 'The run is waiting for its turn.')
    if (status !== 'InProgress' || progress === undefined) return
    const { stage, files = [] } = progress
    const tellStage = () => stage !== undefined && once(`stage:${stage}`, `${stage}.`)
    const read = files.filter(({ done = 0, total = 0 }) => done >= total)
    // The stage after the last file comes after it.
    if (read.length < files.length) tellStage()
    for (const { file = '', total = 0 } of read)
      once(`file:${file}`, `${file}: ${count(total, 'record')} read.`)
    tellStage()
  }
}

/** Says how to continue after the service has stopped responding; `undefined` if nothing has arrived. */
async function adviseResumption(
  { stage, received, token = '', page }: Sending,
  destination: Omit<Destination, 'token'>,
): Promise<string | undefined> {
  if (stage === 'creating') return undefined
  if (stage === 'sending') {
    const names = received.length === 0 ? '' : `Received before that: ${received.join(', ')}. `
    return `${names}Run the same command again when the service runs`
  }
  if (stage === 'requesting')
    return 'All files were received, but perhaps not the request to check them. Run the same command again when the service runs'
  const state =
    stage === 'waiting'
      ? 'All files were received, and the check continues when the service runs again'
      : 'The check has ended'
  const shown = await page
  const console = shown === undefined ? '' : `, or open ${shown}`
  return `${state}. Then see the result with: ${fetchCommand({ ...destination, token })}${console}`
}

/** How long the start page may take: the result of the command does not depend on it. */
const START_PAGE_MS = 5_000

/** Another service may respond without end. */
const fetchStartPage = createBoundedFetch(16_384)

/** The page of a submission in the console, if the start page of the service says that it has one. */
async function findConsolePage({ url, token, eid }: Destination): Promise<string | undefined> {
  const base = dropEnd(url, (character) => character === '/')
  try {
    const page = await fetchStartPage(`${base}/`, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(START_PAGE_MS),
    })
    const { home } = (await page.json()) as { home?: unknown }
    return home === '/console'
      ? `${base}/console/submissions/${encodeURIComponent(token)}?eid=${encodeURIComponent(eid)}`
      : undefined
  } catch {
    return undefined
  }
}
