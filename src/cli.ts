import { Command, CommanderError, Help, type Option } from 'commander'
import { addCheckCommand } from './engines/checking/commands.ts'
import { writeOut } from './foundation/command-line/terminal.ts'
import { VERSION } from './foundation/package/root.ts'
import { addServeCommand, addWorkCommand } from './service-commands.ts'

const json = process.argv.includes('--json')

const program = new Command('mahi')
  .description('An occupation catalogue and the validation of data submissions, over HTTP.')
  .version(VERSION)
  .showHelpAfterError('(mahi --help lists the commands)')
  .showSuggestionAfterError()
  .exitOverride()
  .configureHelp({ optionDescription: describeOption })
  .configureOutput({ writeErr: (text) => (json ? undefined : process.stderr.write(text)) })

// These start without loading the code of the other commands.
const alone = new Map<string | undefined, (program: Command) => unknown>([
  ['check', addCheckCommand],
  ['serve', addServeCommand],
  ['work', addWorkCommand],
])
const add = alone.get(process.argv[2]) ?? (await import('./commands.ts')).addCommands
add(program)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode
  if (json && error.exitCode !== 0) {
    const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
    await writeOut(`${JSON.stringify({ faults: [{ message }] })}\n`)
  }
}

/** The help line of an option, which says whether it is required. */
function describeOption(option: Option): string {
  const description = new Help().optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
}
