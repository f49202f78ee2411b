import { type Command, Option } from 'commander'
import { MahiError } from '../../client/src/errors.ts'
import { type Client, createClient } from '../../client/src/index.ts'
import type { ResultsSummary } from '../../client/src/types.ts'
import type { ValidationFinding } from '../../client/src/validation-results.ts'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { replaceFile } from '../foundation/command-line/output-file.ts'
import { Progress, say, writeOut } from '../foundation/command-line/terminal.ts'
import { FORMATS, type Format } from './formats.ts'
import { checkMirror, type MirrorOptions, mirrorOccupations } from './mirror.ts'
import { describeResults, writeResults } from './results.ts'
import { announceRetry, askService, assertKey, KEY_VARIABLE, readUrl } from './service.ts'
import { createSource, DEADLINE, UNREACHABLE_DEADLINE } from './source.ts'
import { listPartial } from './submissions.ts'

interface MirrorFlags {
  format: Format
  check?: true
  full?: true
  json?: true
}

const formatOption = (fallback: Format) =>
  new Option('--format <format>', 'output format').choices([...FORMATS]).default(fallback)

/** Adds `mirror`, and `fetch` to the commands of `results`. */
export function addMirrorCommands(program: Command, results: Command, apiKey: string | undefined): void {
  program
    .command('mirror')
    .description(`keep a copy of a service's catalogue in a folder; ${KEY_VARIABLE} holds the API key`)
    .argument('<url>', 'URL of the service, such as https://careers.example')
    .argument('<folder>', 'folder of the copy')
    .addOption(formatOption('ndjson'))
    .option('--check', 'compare the copy with the service without writing; fails if they differ')
    .option('--full', 'fetch everything again')
    .addOption(jsonOption)
    .action(
      action(async (url: string, folder: string, flags: MirrorFlags) => {
        const baseUrl = readUrl(url)
        const source = createSource(baseUrl, assertKey(apiKey), announceRetry)
        const progress = new Progress('records')
        const options: MirrorOptions = {
          url: baseUrl,
          folder,
          source,
          format: flags.format,
          full: flags.full === true,
          onProgress: progress.onRecords,
        }
        const run = flags.check ? check : mirror
        await run(options, flags, () => progress.stop())
      }),
    )

  results
    .command('fetch')
    .description(
      `write all findings of a submission to standard output or to a file; ${KEY_VARIABLE} holds the API key`,
    )
    .argument('<url>', 'URL of the service, such as https://careers.example')
    .argument('<token>', 'token of the submission')
    .requiredOption('--eid <eid>', 'the organisation that made the submission')
    .addOption(formatOption('csv'))
    .option('--output <file>', 'write to a file, replacing it once all findings are written')
    .action(
      action(async (url: string, token: string, { eid, format, output }: FetchFlags) => {
        const client = openClient(readUrl(url), eid, assertKey(apiKey))
        const entries = fetchEntries(client, token)
        const write = (append: (text: string) => Promise<void>) =>
          askService(url, () => writeResults(entries, format, append))
        say(describeResults(await (output === undefined ? write(writeOut) : replaceFile(output, write))))
        for (const each of listPartial(await askService(url, () => summarise(client, token)))) say(each)
      }),
    )
}

interface FetchFlags {
  eid: string
  format: Format
  output?: string
}

async function mirror(options: MirrorOptions, flags: MirrorFlags, done: () => void): Promise<void> {
  const { notice, ...summary } = await askService(options.url, () => mirrorOccupations(options)).finally(done)
  if (notice !== undefined) say(notice)
  const { added, changed, removed, total, file } = summary
  const text = `${added} added, ${changed} changed, ${removed} removed; ${total} records in ${file}.`
  await report(flags, { ...summary, ...(notice && { notice }) }, text)
}

async function check(options: MirrorOptions, flags: MirrorFlags, done: () => void): Promise<void> {
  const summary = await askService(options.url, () => checkMirror(options)).finally(done)
  const { added, changed, removed, total, damaged } = summary
  const differs = added + changed + removed > 0 || damaged === true
  if (differs) process.exitCode = 1
  const text = `${added} are missing, ${changed} differ, ${removed} are no longer there`
  const damage = damaged ? '. Its file is damaged: run the command with --full' : ''
  await report(
    flags,
    { ...summary, same: !differs },
    differs ? `The copy is not the same: ${text}${damage}.` : `The copy is the same: ${total} records.`,
  )
}

function openClient(baseUrl: string, eid: string, apiKey: string | undefined): Client {
  return createClient({
    baseUrl,
    apiKey,
    eid,
    deadline: DEADLINE,
    unreachableDeadline: UNREACHABLE_DEADLINE,
    onRetry: announceRetry,
    cachedPages: 0,
  })
}

/** A service that has only the specified operations has no summary, and says nothing about findings that it lacks. */
async function summarise({ submissions }: Client, token: string): Promise<ResultsSummary> {
  try {
    return await submissions.summary(token)
  } catch (error) {
    if (error instanceof MahiError && error.status === 404) return {}
    throw error
  }
}

/** Entries per page: the default maximum of a service. */
const PAGE_SIZE = 1000

/**
 * Fetches all findings: in one response, or from a service without one in pages, as large as it allows.
 */
async function* fetchEntries(
  { validationResults }: Client,
  token: string,
): AsyncGenerator<ValidationFinding> {
  const whole = await validationResults.export(token)
  if (whole !== undefined) {
    yield* whole
    return
  }
  let begun = false
  try {
    for await (const entry of validationResults.all(token, { pageSize: PAGE_SIZE })) {
      begun = true
      yield entry
    }
    return
  } catch (error) {
    const faults = error instanceof MahiError && error.status === 400 ? error.errors?.pageSize : undefined
    if (begun || faults === undefined) throw error
    const most = Number(/ to ([\d,]+)/.exec(String(faults))?.[1]?.replaceAll(',', ''))
    // Without a size, the service uses its default.
    const size = most >= 1 && most < PAGE_SIZE ? { pageSize: most } : {}
    yield* validationResults.all(token, size)
  }
}
