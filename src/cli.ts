import { Command, CommanderError, Help, type Option } from 'commander'
import { addCommands } from './commands.ts'
import { toPrintable, writeOut } from './foundation/command-line/terminal.ts'
import { VERSION } from './foundation/package/root.ts'

/** Runs the program with the arguments of a command line. `process.exitCode` then says whether it failed. */
export async function runProgram(given: readonly string[]): Promise<void> {
  const json = given.includes('--json')
  const program = new Command('mahi')
    .description('An occupation catalogue and the validation of data submissions, over HTTP.')
    .version(VERSION)
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({ writeErr: (text) => (json ? undefined : process.stderr.write(toPrintable(text))) })
  await addCommands(program, given[0])
  nameHelp(program, 'mahi')
  try {
    await program.parseAsync(refuseUnknown(program, given), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // A check exits with 1 for errors in the data.
    process.exitCode = error.exitCode !== 0 && given[0] === 'check' ? 2 : error.exitCode
    if (json && error.exitCode !== 0) {
      const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
      await writeOut(`${JSON.stringify({ faults: [{ message }] })}\n`)
    }
  }
}

/** Names the help that lists what would have been right, for each command its own. */
function nameHelp(command: Command, name: string): void {
  const what = command.commands.length === 0 ? 'describes its arguments and options' : 'lists the commands'
  command.showHelpAfterError(`(${name} --help ${what})`)
  for (const each of command.commands) nameHelp(each, `${name} ${each.name()}`)
}

/**
 * Only the names up to that of a command that does not exist, of which `help` and `--help` would be silent, of all
 * commands and in every group.
 */
function refuseUnknown(program: Command, given: readonly string[]): readonly string[] {
  if (!given.some((each) => ['help', '--help', '-h'].includes(each))) return given
  const names: string[] = []
  let command = program
  for (const each of given) {
    if (each === 'help') continue
    if (each.startsWith('-') || command.commands.length === 0) break
    names.push(each)
    const found = command.commands.find((known) => known.name() === each)
    if (found === undefined) return names
    command = found
  }
  // Commander would show the help of the group.
  return given[0] === 'help' && names.length > 1 ? [...names, '--help'] : given
}

/** The help line of an option, which says whether it is required. */
function describeOption(option: Option): string {
  const description = new Help().optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
}
