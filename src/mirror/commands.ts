import { type Command, Option } from 'commander'
import { MahiError } from '../../client/src/errors.ts'
import { createClient } from '../../client/src/index.ts'
import { action, jsonOption, report } from '../command-line/command.ts'
import { Progress, say, writeOut } from '../command-line/terminal.ts'
import { fail } from '../text/user-error.ts'
import { FORMATS, type Format, writeFormat } from './formats.ts'
import { checkMirror, mirrorOccupations } from './mirror.ts'
import { describeResults, writeResults } from './results.ts'
import { createSource } from './source.ts'

/** The variable of the environment that holds the key: on a command line every user of the machine could read it. */
const KEY_VARIABLE = 'MAHI_API_KEY'

interface MirrorFlags {
  format: Format
  check?: true
  full?: true
  json?: true
}

const formatOption = (fallback: Format) =>
  new Option('--format <format>', 'form of the output').choices([...FORMATS]).default(fallback)

/** Adds `mirror`, and `fetch` to the commands of `results`. */
export function addMirrorCommands(program: Command, results: Command, apiKey: string | undefined): void {
  program
    .command('mirror')
    .description(`keep a copy of a service's catalogue in a folder; the key is taken from ${KEY_VARIABLE}`)
    .argument('<url>', 'where the service is, such as https://careers.example')
    .argument('<folder>', 'where the copy is kept')
    .addOption(formatOption('ndjson'))
    .option('--check', 'compare the copy with the service and write nothing; fails where they differ')
    .option('--full', 'fetch everything anew, whatever the copy holds')
    .addOption(jsonOption)
    .action(
      action(async (url: string, folder: string, flags: MirrorFlags) => {
        const progress = new Progress('records')
        const options = {
          url: readUrl(url),
          folder,
          fetchPage: createSource(readUrl(url), apiKey),
          full: flags.full === true,
          onProgress: progress.onRecords,
        }
        const run = flags.check ? checkMirror : mirrorOccupations
        const summary = await askService(url, () => run(options)).finally(() => progress.stop())
        const { added, changed, removed, total } = summary
        const differs = added + changed + removed > 0
        if (flags.check) {
          if (differs) process.exitCode = 1
          const text = `${added} are missing, ${changed} differ, ${removed} are no longer there`
          await report(
            flags,
            { ...summary, same: !differs },
            differs ? `The copy is not the same: ${text}.` : `The copy is the same: ${total} records.`,
          )
          return
        }
        const file = await writeFormat(folder, flags.format, differs)
        const text = `${added} added, ${changed} changed, ${removed} removed; ${total} records in ${file}.`
        await report(flags, { ...summary, file }, text)
      }),
    )

  results
    .command('fetch')
    .description(
      `write all findings of a submission to standard output; the key is taken from ${KEY_VARIABLE}`,
    )
    .argument('<url>', 'where the service is, such as https://careers.example')
    .argument('<token>', 'the token of the submission')
    .requiredOption('--eid <eid>', 'the organisation that made the submission')
    .addOption(formatOption('csv'))
    .action(
      action(async (url: string, token: string, { eid, format }: { eid: string; format: Format }) => {
        const client = createClient({
          baseUrl: readUrl(url),
          apiKey,
          eid,
          deadline: 5 * 60_000,
          cachedPages: 0,
        })
        const entries = client.validationResults.all(token, { pageSize: 1000 })
        const summary = await askService(url, () => writeResults(entries, format, writeOut))
        say(describeResults(summary))
      }),
    )
}

function readUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '')
  return fail({
    field: '<url>',
    message: `is ${JSON.stringify(text)}, and should be an address such as https://careers.example`,
  })
}

/** Tells what the service answered in the user's terms. */
async function askService<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MahiError)) throw error
    const advice =
      error.status === 401
        ? `the service refuses the request: set ${KEY_VARIABLE} to a valid key, and check the EID and the token`
        : error.kind === 'new-run'
          ? 'a new run was published while this one was being read: run the command again'
          : `${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`
    return fail({ file: url, message: printable(advice) })
  }
}

/** What a service says of itself may hold anything: as one line that does nothing to a terminal, and is not endless. */
function printable(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ')
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}
