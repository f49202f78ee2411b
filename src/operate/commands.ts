import { resolve } from 'node:path'
import type { Command } from 'commander'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import { addBackupCommands } from './backup-commands.ts'
import { addCopyCommand } from './copy-command.ts'
import { examine, type TriedSettings } from './doctor.ts'
import { type DescribedSetting, findHidden, SETTINGS_FILE, writeFiles } from './init.ts'
import { describeStatus, readStatus } from './status.ts'

export interface UpkeepOptions {
  readonly withDatabase: WithDatabase
  readonly readSettings: () => TriedSettings
  readonly listDefaults: () => readonly DescribedSetting[]
  /** The command line that starts Mahi, with absolute paths. */
  readonly program: readonly string[]
}

/** Adds the operator's commands. */
export function addUpkeepCommands(program: Command, options: UpkeepOptions): void {
  program
    .command('init')
    .description('write a settings file and systemd units into this folder, and say what comes next')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const files = writeFiles('.', options.listDefaults(), options.program)
        const units = files.filter((file) => file !== SETTINGS_FILE)
        const timers = units.filter((file) => file.endsWith('.timer'))
        const next = [
          `sudo install -D -m 600 ${SETTINGS_FILE} /etc/mahi/${SETTINGS_FILE}`,
          `sudo install -m 644 ${units.join(' ')} /etc/systemd/system/`,
          `sudo systemctl enable --now mahi ${timers.join(' ')}`,
        ]
        const text = `Wrote ${files.map((file) => resolve(file)).join(', ')}. Read the settings, then run:\n\n${next.join('\n')}\n\nCommands use the same settings: run them with sudo, such as "sudo mahi keys create --client NAME".`
        const hidden = findHidden(options.program)
        if (hidden.length > 0)
          say(
            `Warning: the units cannot read ${hidden.join(' and ')}, because they hide the home folders. Install Node.js and Mahi for all users, such as in /usr/local or /opt, and run "mahi init" from there.`,
          )
        await report(flags, { files: files.map((file) => resolve(file)), next }, text)
      }),
    )

  program
    .command('status')
    .description('show the state of the database: size, last import, submissions, queue, keys that expire')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const status = await options.withDatabase(readStatus)
        await writeOut(flags.json ? `${JSON.stringify(status)}\n` : describeStatus(status))
      }),
    )

  program
    .command('doctor')
    .description(
      'try the database, the ports and everything else that the settings name; exits 1 if one is bad',
    )
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const findings = await examine(options.readSettings())
        if (findings.some(({ state }) => state === 'bad')) process.exitCode = 1
        if (flags.json) return writeOut(`${JSON.stringify({ findings })}\n`)
        for (const { name, state, message } of findings)
          await writeOut(`${state.padEnd(8)} ${name.padEnd(18)} ${message}\n`)
        if (process.exitCode === 1) return
        const isTaken = findings.some(({ name, state }) => /PORT$/.test(name) && state === 'warning')
        say(isTaken ? 'The service can start once its ports are free.' : 'The service can start.')
      }),
    )

  addBackupCommands(program, options.readSettings)
  addCopyCommand(program)
}
