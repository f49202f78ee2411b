import { type Command, Option } from 'commander'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { replaceFile } from '../foundation/command-line/output-file.ts'
import { readServiceUrl } from '../foundation/command-line/service-url.ts'
import { Progress, say, writeOut } from '../foundation/command-line/terminal.ts'
import { count } from '../foundation/text/format-number.ts'
import { mirrorOccupations } from './mirror.ts'
import { describeResults, FORMATS, type Format, fetchEntries, listPartial, writeResults } from './results.ts'
import { type Asking, askService, ifOffered, KEY_VARIABLE, openClient, PATIENCE } from './service.ts'

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
    .addOption(jsonOption)
    .action(
      action(async (url: string, folder: string, flags: { format: Format; json?: true }) => {
        const baseUrl = readServiceUrl(url, '<url>')
        const { occupations } = openClient(url, { apiKey, field: '<url>', deadline: PATIENCE })
        const progress = new Progress('records')
        const { format } = flags
        const run = () =>
          mirrorOccupations({ url: baseUrl, folder, occupations, format, onProgress: progress.onRecords })
        // A catalogue may be public, so the service decides whether a key is needed.
        const anonymous = apiKey === undefined ? ('occupations:read' as const) : undefined
        const summary = await askService(baseUrl, run, { field: '<url>', anonymous }).finally(() =>
          progress.stop(),
        )
        const { changed, revision, total, file } = summary
        const text = `${changed ? 'Fetched' : 'Unchanged:'} revision ${revision}; ${count(total, 'record')} in ${file}.`
        await report(flags, summary, text)
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
        const client = openClient(url, { eid, apiKey, scope, ...asking, deadline: PATIENCE })
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
