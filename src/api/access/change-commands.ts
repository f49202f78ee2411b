import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import {
  action,
  jsonOption,
  report,
  type WithDatabase,
  waitingNotice,
} from '../../foundation/command-line/command.ts'
import { readWhole } from '../../foundation/command-line/option-values.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { describeReadError } from '../../foundation/faults/read-error.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { showDay } from '../../foundation/text/zoned-time.ts'
import { renameKey, revokeKeys, rotateKey } from './key-changes.ts'
import { inTwelveMonths, readClientName, readExpiry, readKeyId, reportChange } from './key-options.ts'
import { listKeys } from './keys.ts'

const DAY = 86_400_000

/** Adds `keys revoke`, `rotate` and `rename`. */
export function addKeyChangeCommands(keys: Command, withDatabase: WithDatabase): void {
  keys
    .command('revoke')
    .description('revoke a key immediately, or every key that an audit log lists as revoked')
    .argument('[id]', 'id of the key, such as mahi_0123456789ab')
    .option('--from-audit <file>', 'revoke the keys that this log lists as revoked; - is standard input')
    .option('--dry-run', 'with --from-audit: list the keys and revoke none')
    .addOption(jsonOption)
    .action(
      action(async (given: string | undefined, flags: RevokeFlags) => {
        if ((given === undefined) === (flags.fromAudit === undefined))
          fail({ field: '<id>', message: 'give the id of one key, or --from-audit FILE' })
        if (flags.fromAudit !== undefined) return await revokeFromAudit(withDatabase, flags.fromAudit, flags)
        const id = readKeyId(given ?? '')
        const [key] = await withDatabase((database) => revokeKeys(database, [id], waitingNotice()))
        if (key === undefined) refuseUnknown()
        await report(flags, { id, revoked: true }, `Key ${id} is revoked.`)
        reportChange({
          audit: 'revoked',
          key: id,
          client: key.client,
          expires: formatTimestamp(key.expires),
        })
      }),
    )

  keys
    .command('rotate')
    .description('create a key that replaces another; both work until the older one expires')
    .argument('<id>', 'id of the older key, such as mahi_0123456789ab')
    .option('--overlap <days>', 'days until the older key expires', readWhole(0, 999), 7)
    .option(
      '--expires <when>',
      'expiry of the new key: a date, a date-time or never (default: in 12 months)',
      readExpiry,
    )
    .addOption(jsonOption)
    .action(
      action(async (given: string, { overlap, expires, json }: RotateFlags) => {
        const id = readKeyId(given)
        const until = Date.now() + overlap * DAY
        const rotated = await withDatabase((database) =>
          rotateKey(database, id, { until, expires: expires ?? inTwelveMonths(), onWait: waitingNotice() }),
        )
        if (rotated === undefined)
          fail({ field: '<id>', message: 'names no valid key: "mahi keys list" lists them' })
        const { made, old } = rotated
        const dates = { made: formatTimestamp(made.expires), old: formatTimestamp(old.expires) }
        reportChange({ audit: 'made', key: made.id, client: made.client, expires: dates.made })
        reportChange({ audit: 'changed', key: id, client: old.client, expires: dates.old })
        if (!json) {
          say(`Key ${id} for ${made.client} works until ${showDay(old.expires)}.`)
          say(`Key ${made.id} replaces it, valid until ${showDay(made.expires)}. It will not be shown again:`)
        }
        const { key, scopes, eids } = made
        const summary = {
          id: made.id,
          clientId: made.client,
          key,
          scopes,
          eids,
          expires: dates.made,
          replaces: { id, expires: dates.old },
        }
        await writeOut(`${json ? JSON.stringify(summary) : key}\n`)
      }),
    )

  keys
    .command('rename')
    .description('rename the client of a key')
    .argument('<id>', 'id of the key, such as mahi_0123456789ab')
    .requiredOption('--client <name>', 'new name of the client')
    .addOption(jsonOption)
    .action(
      action(async (given: string, flags: { client: string; json?: true }) => {
        const id = readKeyId(given)
        const client = readClientName(flags.client)
        const key = await withDatabase((database) => renameKey(database, id, client, waitingNotice()))
        if (key === undefined) refuseUnknown()
        await report(flags, { id, clientId: client }, `Key ${id} is for ${client}.`)
        reportChange({ audit: 'changed', key: id, client, expires: formatTimestamp(key.expires) })
      }),
    )
}

interface RevokeFlags {
  fromAudit?: string
  dryRun?: true
  json?: true
}

interface RotateFlags {
  overlap: number
  expires?: number
  json?: true
}

function refuseUnknown(): never {
  fail({ field: '<id>', message: 'names no key: "mahi keys list" lists them' })
}

/** Revokes the keys again that a restored backup has revived. */
async function revokeFromAudit(withDatabase: WithDatabase, file: string, flags: RevokeFlags): Promise<void> {
  const named = await readRevoked(file)
  const keys = await withDatabase((database) =>
    flags.dryRun ? listKeys(database) : revokeKeys(database, [...named], waitingNotice()),
  )
  const valid = keys.filter(({ id, revoked }) => revoked === null && named.has(id))
  for (const { id, client, expires } of flags.dryRun ? [] : valid)
    reportChange({ audit: 'revoked', key: id, client, expires: formatTimestamp(expires) })
  const ids = valid.map(({ id }) => id)
  if (flags.json)
    return writeOut(`${JSON.stringify({ named: named.size, [flags.dryRun ? 'valid' : 'revoked']: ids })}\n`)
  for (const id of ids) await writeOut(`${id}\n`)
  const count = `${ids.length} of the ${named.size} keys that the log names as revoked`
  say(flags.dryRun ? `${count} would be revoked.` : `${count} were revoked now.`)
}

/** The key ids in the audit lines of a log, whatever a log collector prepends to each line. */
async function readRevoked(file: string): Promise<Set<string>> {
  const ids = new Set<string>()
  const input = file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!line.includes('"audit":"revoked"')) continue
      const id = /"key":"(mahi_[0-9a-f]{12})"/.exec(line)?.[1]
      if (id !== undefined) ids.add(id)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    fail({ field: '--from-audit', message: `${quote(file)} ${describeReadError(code)}` })
  }
  return ids
}
