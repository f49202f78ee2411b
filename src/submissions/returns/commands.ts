import type { Command } from 'commander'
import { reportChange } from '../../api/access/audit.ts'
import { readText } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { escapeControls } from '../../foundation/text/quote.ts'
import { showEnd, showInstant } from '../../foundation/text/zoned-time.ts'
import { Definitions } from '../rules/definitions.ts'
import { exportReturn } from './export-return.ts'
import { readReturns } from './read-returns.ts'
import { listReturns, type StoredReturn, storeReturns } from './returns.ts'
import { renderReturn } from './schema.ts'

interface ReturnCommandOptions {
  readonly readSettings: () => ReturnSettings
  readonly openSealer: (database: Database) => Promise<Sealer>
}

/** The largest file of returns, in bytes. */
const MOST_BYTES = 2 ** 20

interface ReturnSettings {
  readonly DEFINITIONS: readonly string[]
  readonly TIME_ZONE: string
}

/** Adds `returns import`, `returns list` and `returns export`. */
export function addReturnCommands(
  program: Command,
  withDatabase: WithDatabase,
  { readSettings, openSealer }: ReturnCommandOptions,
): void {
  const returns = program.command('returns').description('describe the returns that are collected')
  returns
    .command('import')
    .description('add or change the returns of a YAML or JSON file; those that it lacks stay')
    .argument('<file>', 'the file')
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { json?: true }) => {
        const { DEFINITIONS, TIME_ZONE: zone } = readSettings()
        const content = await readText(file)
        if (Buffer.byteLength(content) > MOST_BYTES) fail({ file, message: 'must be at most 1 MiB' })
        const read = await readReturns(content, {
          file,
          definitions: new Definitions(DEFINITIONS),
          zone,
        })
        const stored = await withDatabase((database) => storeReturns(database, read), { create: true })
        const countOf = (change: StoredReturn['change']) =>
          stored.filter((each) => each.change === change).length
        const [created, updated, unchanged] = [countOf('created'), countOf('updated'), countOf('unchanged')]
        const text = `${created} created, ${updated} updated, ${unchanged} unchanged.`
        await report(flags, { created, updated, unchanged }, text)
        for (const { returnId, change } of stored)
          if (change !== 'unchanged') reportChange({ audit: `return-${change}`, return: returnId })
      }),
    )
  returns
    .command('list')
    .description('list the returns')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const all = await withDatabase((database) => listReturns(database))
        if (flags.json) {
          const shown = all.map((each) => ({ ...renderReturn(each), ...(each.eids && { eids: each.eids }) }))
          return writeOut(`${JSON.stringify({ returns: shown })}\n`)
        }
        if (all.length === 0) say('There are no returns. "mahi returns import FILE" adds them.')
        for (const each of all) {
          const { returnId, name, type, opens, due, closes, zone, eids } = each
          const who = eids === undefined ? 'all organisations' : count(eids.length, 'organisation')
          const dates = [showInstant(opens, zone), showEnd(due, zone), showEnd(closes, zone)]
          await writeOut(
            `${returnId}  ${escapeControls(name)}  ${type}, ${who}\n  opens  ${dates[0]}\n  due    ${dates[1]}\n  closes ${dates[2]}\n`,
          )
        }
      }),
    )
  returns
    .command('export')
    .description('write the submitted files of all organisations, into a folder for each')
    .argument('<id>', 'the return')
    .requiredOption('--output <folder>', 'the folder to create')
    .addOption(jsonOption)
    .action(
      action(async (returnId: string, { output, ...flags }: { output: string; json?: true }) => {
        const exported = await withDatabase(async (database) =>
          exportReturn(database, { returnId, output, sealer: await openSealer(database) }),
        )
        const { organisations } = exported
        const files = organisations.flatMap((each) => each.files)
        const text = `Wrote ${count(files.length, 'file')} of ${count(organisations.length, 'organisation')} to ${output}. They are as they were submitted: their digests are in submitted.json.`
        await report(flags, exported, text)
      }),
    )
}
