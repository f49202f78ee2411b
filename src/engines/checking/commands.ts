import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { type Command, Option } from 'commander'
import { jsonOption } from '../../foundation/command-line/command.ts'
import { assertOutput } from '../../foundation/command-line/output-file.ts'
import {
  OutputFailed,
  print,
  reportFailure,
  say,
  sayNote,
  writeOut,
} from '../../foundation/command-line/terminal.ts'
import { explainReadError } from '../../foundation/faults/read-error.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import type { Definition } from './definition/definition.ts'
import type { CheckRequest, CheckSummary } from './engine/check-files.ts'
import { EMPTY_NOTE } from './engine/summary.ts'
import type { Containers } from './engine/unpack.ts'
import type { Repairs } from './repair/repairs.ts'
import type { ReportInput } from './report/report.ts'

interface CheckFlags {
  definition?: string
  file?: string[]
  format: 'table' | 'ndjson' | 'csv' | 'html' | 'junit' | 'xlsx'
  mark?: string
  fix?: string
  overwrite?: true
  output?: string
  return?: string
  asOf?: string
  baseline?: string
  failOn: 'error' | 'warning' | 'new'
  only?: string[]
  all?: true
  explain?: string
  sample?: string
  json?: true
}

/** Adds `check`, whose code is loaded when it runs. */
export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description(
      'check files against a definition, offline; exits 1 if there are errors (see --fail-on) or a rule was stopped, 2 if they cannot be checked',
    )
    .argument('[paths...]', 'a folder with the files, or files')
    .option(
      '--definition <definition>',
      'what to check against: a name or a folder; by default the checked folder if it has a datapackage.json, or else sdr',
    )
    .option('--file <name=file...>', 'which file is which, such as enrolments=SDR_2025.csv')
    .option('--return <id>', 'the return, such as 202512; by default that of the definition')
    .option('--as-of <date>', "date on which codes and rules apply; by default the end of the return's month")
    .addOption(
      new Option('--format <format>', 'form of the report; xlsx, with --mark: a marked workbook')
        .choices(['table', 'ndjson', 'csv', 'html', 'junit', 'xlsx'])
        .default('table'),
    )
    .option('--output <file>', 'write the report to a file instead of standard output')
    .option('--baseline <run>', 'compare with the findings of an earlier run, written by --format ndjson')
    .addOption(
      new Option(
        '--fail-on <level>',
        'what exits 1: errors, warnings too, or only what the baseline does not have',
      )
        .choices(['error', 'warning', 'new'])
        .default('error'),
    )
    .option('--all', 'list every code in the terminal, not the causes')
    .option('--only <code...>', 'check these codes only')
    .option('--mark <folder>', 'write copies of the files with the findings beside each row')
    .option('--fix <folder>', 'write corrected copies of the files, and check these')
    .option('--overwrite', 'replace files that --mark or --fix finds in its folder')
    .option('--explain <code>', 'explain a code, and check nothing')
    .option(
      '--sample <folder>',
      'create a folder of sample files as a spreadsheet program left them, or with --all faults of every kind, and check nothing',
    )
    .addOption(jsonOption)
    .action(async (paths: string[], flags: CheckFlags) => {
      try {
        process.exitCode = await runCheck(paths, flags)
      } catch (error) {
        if (error instanceof OutputFailed && error.closed) return
        await reportFailure(explainReadError(error), flags.json === true)
        // 1 means findings; these files could not be checked.
        process.exitCode = 2
      }
    })
}

async function runCheck(paths: readonly string[], flags: CheckFlags): Promise<number> {
  if (flags.sample !== undefined) return await writeSample(flags.sample, flags.all === true)
  if (flags.explain !== undefined) {
    const { explainCheck } = await import('./explain-check.ts')
    await print(explainCheck(await readDefinition(flags, paths), flags.explain, flags.json === true))
    return 0
  }
  if (paths.length === 0 && flags.file === undefined) {
    const taken = flags.only?.find((each) => existsSync(each))
    throw new UserError(
      taken === undefined
        ? 'Name a folder with the files to check, or the files.'
        : `Name ${taken} before --only, which takes every word after it as a code.`,
    )
  }
  if (flags.format === 'xlsx' && flags.mark === undefined)
    throw new UserError('--format xlsx needs --mark: the folder for the marked workbook.')
  if (flags.failOn === 'new' && flags.baseline === undefined)
    throw new UserError('--fail-on new needs --baseline: the earlier run to compare with.')
  const { checkFiles } = await import('./engine/check-files.ts')
  const { Baseline } = await import('./report/baseline.ts')
  const baseline = flags.baseline === undefined ? undefined : await Baseline.read(flags.baseline)
  const { CheckProgress } = await import('./progress.ts')
  const progress = new CheckProgress()
  const abort = new AbortController()
  const stop = () => abort.abort(new UserError('The check was stopped.'))
  process.once('SIGINT', stop).once('SIGTERM', stop)
  let repairs: Repairs | undefined
  const { Containers } = await import('./engine/unpack.ts')
  const containers = new Containers()
  const cleanUp = async () => {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await containers.remove()
  }
  const prepare = async (): Promise<CheckRequest> => {
    let request = await readRequest(paths, flags, containers)
    const read = request.files.map(({ path }) => path)
    assertOutput(flags.output, [...paths, ...read], 'the files to check')
    if (flags.mark !== undefined || flags.fix !== undefined) {
      const { Repairs } = await import('./repair/repairs.ts')
      repairs = new Repairs(request, flags)
      request = await repairs.fix(abort.signal)
    }
    return request
  }
  const result = await checkFiles(prepare, {
    signal: abort.signal,
    onProgress: progress.show,
  })
    .catch(async (error: unknown) => {
      await cleanUp()
      throw error
    })
    .finally(() => progress.stop())
  try {
    const { summary, path } = result
    // Every report says which files are empty.
    for (const { file, notes } of summary.files)
      for (const note of notes) if (note !== EMPTY_NOTE) sayNote(`${file}: ${note}`)
    const changes = await baseline?.countChanges(result.findings())
    const input: ReportInput = {
      summary,
      path,
      changes,
      isFixed: flags.fix !== undefined,
      findings: async function* () {
        const standingOf = baseline?.compare()
        for await (const finding of result.findings())
          yield standingOf === undefined ? finding : { ...finding, standing: standingOf(finding) }
      },
    }
    await repairs?.mark(result, abort.signal)
    for (const line of repairs?.describeFixes() ?? []) say(line)
    await writeReport(input, flags, repairs?.report ?? {})
    for (const line of repairs?.describeMarks() ?? []) say(line)
    const { sumChanges } = await import('./report/baseline.ts')
    return decideExit(summary, flags.failOn, changes === undefined ? 0 : sumChanges(changes).fresh)
  } finally {
    await cleanUp()
    await result.dispose()
  }
}

async function readRequest(
  given: readonly string[],
  flags: CheckFlags,
  containers: Containers,
): Promise<CheckRequest> {
  const paths = await containers.openArchives(given.map((path) => folderOf(path) ?? path))
  const definition = await readDefinition(flags, paths)
  const { findCode } = await import('./explain-check.ts')
  const { selectFiles } = await import('./select-files.ts')
  const only = (flags.only ?? []).map((code) => findCode(definition, code).check.code)
  const { files, complete, unread, spare, notes } = await selectFiles(
    containers,
    paths,
    definition,
    flags.file,
  )
  for (const note of [...definition.notes, ...notes]) sayNote(note)
  return { definition, files, complete, unread, spare, returnId: flags.return, asOf: flags.asOf, only }
}

/** The folder of a package whose descriptor is named. */
function folderOf(path: string): string | undefined {
  return /^datapackage\.(?:json|ya?ml)$/i.test(basename(path)) ? dirname(path) : undefined
}

async function readDefinition({ definition }: CheckFlags, paths: readonly string[]): Promise<Definition> {
  const { findDefinition, findDescriptor, isOwnDefinition, loadDefinition } = await import(
    './definition/load.ts'
  )
  const [path = '.'] = paths
  const checked = folderOf(path) ?? path
  const isPackage = paths.length === 1 && findDescriptor(checked) !== undefined
  const folder = definition === undefined && isPackage ? checked : findDefinition(definition ?? 'sdr')
  // A user's definition is refused if its examples have faults; the tests have read those of Mahi's own.
  return loadDefinition(folder, { examples: !isOwnDefinition(folder) })
}

/** @param more what `--json` prints beside the summary */
async function writeReport(
  input: ReportInput,
  { format: form, output, json, all }: CheckFlags,
  more: object,
): Promise<void> {
  // The workbook has the findings; the report of it is that of a terminal.
  const format = form === 'xlsx' ? 'table' : form
  const { FORMATS } = await import('./report/formats.ts')
  const { describeVerdict, listGaps } = await import('./report/report.ts')
  const write = await FORMATS[format === 'table' && all === true ? 'all' : format]()
  if (output !== undefined) {
    const { replaceFile } = await import('../../foundation/command-line/output-file.ts')
    await replaceFile(output, (append) => write(input, append))
  }
  const { summary } = input
  if (json) {
    await writeOut(`${JSON.stringify({ ...summary, ...more })}\n`)
  } else if (output === undefined) {
    await write(input, format === 'table' ? print : writeOut)
  }
  if (json || (format === 'table' && output === undefined)) return
  say(`${describeVerdict(summary)} ${output === undefined ? '' : `The report is in ${output}.`}`.trim())
  if (format !== 'html') for (const gap of listGaps(summary)) say(gap)
}

function decideExit(
  { errors, warnings, notRun }: CheckSummary,
  failOn: CheckFlags['failOn'],
  fresh: number,
): number {
  // A rule that was stopped may have found anything.
  if (notRun.some(({ blocks }) => blocks)) return 1
  if (failOn === 'new') return fresh > 0 ? 1 : 0
  return errors > 0 || (failOn === 'warning' && warnings > 0) ? 1 : 0
}

async function writeSample(folder: string, all: boolean): Promise<number> {
  const { copySample, EXPORTED_SAMPLE, FAULTY_SAMPLE } = await import('./sample.ts')
  const names = await copySample(all ? FAULTY_SAMPLE : EXPORTED_SAMPLE, folder)
  const faults = all ? 'with faults of every kind' : 'as a spreadsheet program left them'
  say(`Wrote ${names.join(', ')} to ${folder}. They are fictitious, ${faults}. Check them:`)
  await print(`mahi check ${folder}\n`)
  return 0
}
