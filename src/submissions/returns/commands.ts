import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { writeOut } from '../../foundation/command-line/terminal.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import { escapeControls } from '../../foundation/text/quote.ts'
import { showInstant } from '../../foundation/text/zoned-time.ts'
import { Definitions } from '../rules/definitions.ts'
import { readReturns } from './read-returns.ts'
import { listReturns, storeReturns } from './returns.ts'
import { renderReturn } from './schema.ts'

export interface ReturnSettings {
  readonly DEFINITIONS: readonly string[]
  readonly TIME_ZONE: string
}

/** The largest file of returns, in bytes. */
const MOST_BYTES = 2 ** 20

/** Adds `returns import` and `returns list`. */
export function addReturnCommands(
  program: Command,
  withDatabase: WithDatabase,
  readSettings: () => ReturnSettings,
): Command {
  const returns = program.command('returns').description('describe the returns that are collected')
  returns
    .command('import')
    .description('add or change the returns of a YAML or JSON file; those that it lacks stay')
    .argument('<file>', 'the file')
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { json?: true }) => {
        const { DEFINITIONS, TIME_ZONE: zone } = readSettings()
        const content = await readFile(file).catch((error: NodeJS.ErrnoException) =>
          fail({ file, message: `cannot be read (${error.code})` }),
        )
        if (content.length > MOST_BYTES) fail({ file, message: 'must be at most 1 MiB' })
        const read = readReturns(content.toString('utf8'), {
          file,
          definitions: new Definitions(DEFINITIONS),
          zone,
        })
        const counts = await withDatabase((database) => storeReturns(database, read))
        const { created, updated, unchanged } = counts
        await report(flags, counts, `${created} created, ${updated} updated, ${unchanged} unchanged.`)
      }),
    )
  returns
    .command('list')
    .description('list the returns')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const all = await withDatabase((database) => listReturns(database), { existing: true })
        if (flags.json) {
          const shown = all.map((each) => ({ ...renderReturn(each), ...(each.eids && { eids: each.eids }) }))
          return writeOut(`${JSON.stringify({ returns: shown })}\n`)
        }
        for (const each of all) {
          const { returnId, name, type, opens, due, closes, zone, eids } = each
          const who = eids === undefined ? 'all organisations' : `${eids.length} organisations`
          const dates = [opens, due, closes].map((time) => showInstant(time, zone))
          await writeOut(
            `${returnId}  ${escapeControls(name)}  ${type}, ${who}\n  opens  ${dates[0]}\n  due    ${dates[1]}\n  closes ${dates[2]}\n`,
          )
        }
      }),
    )
  return returns
}
