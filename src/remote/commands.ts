import { type Command, Option } from 'commander'
import { MahiError } from '../../client/src/errors.ts'
import type { Client } from '../../client/src/index.ts'
import type { ValidationFinding } from '../../client/src/validation-results.ts'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { replaceFile } from '../foundation/command-line/output-file.ts'
import { readServiceUrl } from '../foundation/command-line/service-url.ts'
import { Progress, say, writeOut } from '../foundation/command-line/terminal.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { FORMATS, type Format } from './formats.ts'
import { checkMirror, type MirrorOptions, mirrorOccupations } from './mirror.ts'
import { describeResults, writeResults } from './results.ts'
import {
  type Asking,
  askService,
  assertKey,
  createRetryNotice,
  ifOffered,
  KEY_VARIABLE,
  openClient,
} from './service.ts'
import { createSource, DEADLINE } from './source.ts'
import { listPartial } from './submissions.ts'

interface MirrorFlags {
  format: Format
  check?: true
  full?: true
  json?: true
}

const formatOption = (fallback: Format) =>
  new Option('--format <format>', 'output format').choices([...FORMATS]).default(fallback)

/** Adds `mahi mirror`. */
export function addMirrorCommand(program: Command, apiKey: string | undefined): void {
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
        const baseUrl = readServiceUrl(url, '<url>')
        const source = createSource(baseUrl, assertKey(apiKey), createRetryNotice(baseUrl))
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
        // A catalogue may be public, so the service decides whether a key is needed.
        const anonymous = apiKey === undefined ? ('occupations:read' as const) : undefined
        const ask: Ask = (work) =>
          askService(baseUrl, work, { field: '<url>', anonymous }).finally(() => progress.stop())
        await run(options, flags, ask)
      }),
    )
}

/** Adds `fetch` to the commands of `results`. */
export function addFetchCommand(results: Command, apiKey: string | undefined): void {
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
        const asking: Asking = { field: '<url>' }
        const scope = 'validation-results:read'
        const client = openClient(url, eid, apiKey, scope, { ...asking, deadline: DEADLINE })
        const entries = fetchEntries(client, token)
        const write = (append: (text: string) => Promise<void>) =>
          askService(url, () => writeResults(entries, format, append), asking)
        say(describeResults(await (output === undefined ? write(writeOut) : replaceFile(output, write))))
        // A service that has only the specified operations does not say which findings it has not stored.
        const readSummary = () => ifOffered(() => client.submissions.summary(token))
        const summary = (await askService(url, readSummary, asking)) ?? {}
        for (const each of listPartial(summary)) say(each)
      }),
    )
}

interface FetchFlags {
  eid: string
  format: Format
  output?: string
}

/** Calls the service for the work of a mirror. */
type Ask = <T>(work: () => Promise<T>) => Promise<T>

async function mirror(options: MirrorOptions, flags: MirrorFlags, ask: Ask): Promise<void> {
  const { notice, ...summary } = await ask(() => mirrorOccupations(options))
  if (notice !== undefined) say(notice)
  const { added, changed, removed, total, file } = summary
  const text = `${formatNumber(added)} added, ${formatNumber(changed)} changed, ${formatNumber(removed)} removed; ${count(total, 'record')} in ${file}.`
  await report(flags, { ...summary, ...(notice && { notice }) }, text)
}

async function check(options: MirrorOptions, flags: MirrorFlags, ask: Ask): Promise<void> {
  const summary = await ask(() => checkMirror(options))
  const { added, changed, removed, total, damaged } = summary
  const differs = added + changed + removed > 0 || damaged === true
  if (differs) process.exitCode = 1
  const text = `${count(added, 'is', 'are')} missing, ${count(changed, 'differs', 'differ')}, ${count(removed, 'is', 'are')} no longer there`
  const damage = damaged ? '. Its file is damaged: run the command with --full' : ''
  await report(
    flags,
    { ...summary, same: !differs },
    differs
      ? `The copy is not the same: ${text}${damage}.`
      : `The copy is the same: ${count(total, 'record')}.`,
  )
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
