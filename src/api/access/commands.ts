import { type Command, Option } from 'commander'
import {
  action,
  jsonOption,
  type WithDatabase,
  waitingNotice,
} from '../../foundation/command-line/command.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { showDay } from '../../foundation/text/zoned-time.ts'
import { addKeyChangeCommands } from './change-commands.ts'
import { inTwelveMonths, readExpiry, readNames, reportChange } from './key-options.ts'
import { createKey, type KeyDescription, listKeys } from './keys.ts'
import { DEFAULT_SCOPES, SCOPES, type Scope } from './principal.ts'

interface CreateFlags {
  client: string
  scope?: Scope[]
  eid?: string[]
  expires?: number
  json?: true
}

/** Adds `keys create`, `list`, `revoke`, `rotate` and `rename`. */
export function addKeyCommands(program: Command, withDatabase: WithDatabase): void {
  const keys = program.command('keys').description('create, list, rotate and revoke API keys')

  keys
    .command('create')
    .description('create a key and print it once')
    .requiredOption('--client <name>', 'name of the client that uses the key')
    .addOption(
      new Option(
        '--scope <scope...>',
        `the scopes of the key (default: ${DEFAULT_SCOPES.join(' and ')})`,
      ).choices([...SCOPES]),
    )
    .option('--eid <eid...>', 'organisations it may act for, comma-separated or separated by spaces')
    .option(
      '--expires <when>',
      'a date such as 2027-06-30, a date-time, or never (default: in 12 months)',
      readExpiry,
    )
    .addOption(jsonOption)
    .action(
      action(async ({ client: given, scope, eid: listed = [], expires: until, json }: CreateFlags) => {
        const { name, eid } = readNames(given, listed)
        const { key, id, client, scopes, eids, expires } = await withDatabase(
          (database) =>
            createKey(database, {
              client: name,
              ...(scope === undefined ? {} : { scopes: [...new Set(scope)] }),
              eids: [...new Set(eid)],
              expires: until ?? inTwelveMonths(),
              onWait: waitingNotice(),
            }),
          { create: true },
        )
        const date = formatTimestamp(expires)
        reportChange({ audit: 'made', key: id, client, expires: date })
        if (!json && eids.length === 0 && scopes.includes('submissions:write'))
          say('This key covers no organisation, so it cannot submit: add --eid.')
        if (!json)
          say(`Key ${id} for ${client}, valid until ${showDay(expires)}. It will not be shown again:`)
        const summary = { id, clientId: client, key, scopes, eids, expires: date }
        await writeOut(`${json ? JSON.stringify(summary) : key}\n`)
      }),
    )

  keys
    .command('list')
    .description('list the keys, without their secrets')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const rows = (await withDatabase(listKeys)).map(describeKey)
        if (flags.json) return writeOut(`${JSON.stringify({ keys: rows })}\n`)
        if (rows.length === 0) say('There are no keys. Create one with: mahi keys create --client NAME')
        for (const { id, state, expires, clientId, scopes, eids } of rows) {
          const organisations = eids.length > 0 ? `EID ${eids.join(' ')}` : 'no EID'
          const columns = [id, state.padEnd(7), `until ${expires.slice(0, 10)}`, clientId, scopes.join(' ')]
          await writeOut(`${[...columns, organisations].join('  ')}\n`)
        }
      }),
    )

  addKeyChangeCommands(keys, withDatabase)
}

function describeKey({ id, client, created, expires, revoked, used = null, scopes, eids }: KeyDescription) {
  return {
    id,
    clientId: client,
    scopes,
    eids,
    created: formatTimestamp(created),
    expires: formatTimestamp(expires),
    revoked: revoked === null ? null : formatTimestamp(revoked),
    lastUsed: used === null ? null : formatTimestamp(used),
    state: revoked !== null ? 'revoked' : expires <= Date.now() ? 'expired' : 'valid',
  }
}
