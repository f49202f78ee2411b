import { type Command, InvalidArgumentError, Option } from 'commander'
import { action, jsonOption, report, type WithDatabase, waitingNotice } from '../command-line/command.ts'
import { say, writeOut } from '../command-line/terminal.ts'
import { InputRefused, refuse } from '../input/faults.ts'
import { quote } from '../text/quote.ts'
import { formatTimestamp, parseTimestamp } from '../text/timestamp.ts'
import type { Fault } from '../text/user-error.ts'
import { type KeyChange, writeKeyChange } from './audit.ts'
import { createKey, type KeyDescription, listKeys, revokeKey } from './keys.ts'
import { SCOPES, type Scope } from './principal.ts'

interface CreateFlags {
  client: string
  scope?: Scope[]
  eid?: string[]
  expires?: number
  json?: true
}

/** Adds `keys create`, `list` and `revoke`. */
export function addKeyCommands(program: Command, withDatabase: WithDatabase): void {
  const keys = program.command('keys').description('make, list and revoke API keys')

  keys
    .command('create')
    .description('make a key; it is shown once, and cannot be shown again')
    .requiredOption('--client <name>', 'who the key is for')
    .addOption(
      new Option('--scope <scope...>', 'what it may be used for (default: everything)').choices([...SCOPES]),
    )
    .option('--eid <eid...>', 'the organisations it may act for')
    .option(
      '--expires <when>',
      'a date such as 2027-06-30, a date-time, or never (default: in 12 months)',
      readExpiry,
    )
    .addOption(jsonOption)
    .action(
      action(async ({ client: name, scope, eid = [], expires: until, json }: CreateFlags) => {
        checkNames(name, eid)
        const { key, id, client, scopes, eids, expires } = await withDatabase((database) =>
          createKey(database, {
            client: name,
            ...(scope === undefined ? {} : { scopes: [...new Set(scope)] }),
            eids: [...new Set(eid)],
            expires: until ?? inTwelveMonths(),
            onWait: waitingNotice(),
          }),
        )
        const date = formatTimestamp(expires)
        if (!json) say(`Key ${id} for ${client}, until ${date}. It is not shown again:`)
        tell({ audit: 'made', key: id, client, expires: date })
        const summary = { id, clientId: client, key, scopes, eids, expires: date }
        await writeOut(`${json ? JSON.stringify(summary) : key}\n`)
      }),
    )

  keys
    .command('list')
    .description('list the keys, without what is secret about them')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const rows = (await withDatabase(listKeys)).map(describeKey)
        if (flags.json) return writeOut(`${JSON.stringify({ keys: rows })}\n`)
        if (rows.length === 0) say('There are no keys. Make one with: mahi keys create --client NAME')
        for (const { id, state, expires, clientId, scopes, eids } of rows) {
          const organisations = eids.length > 0 ? `EID ${eids.join(' ')}` : 'no EID'
          const columns = [id, state.padEnd(7), `until ${expires.slice(0, 10)}`, clientId, scopes.join(' ')]
          await writeOut(`${[...columns, organisations].join('  ')}\n`)
        }
      }),
    )

  keys
    .command('revoke')
    .description('end a key at once')
    .argument('<id>', 'its id, such as mahi_0123456789ab')
    .addOption(jsonOption)
    .action(
      action(async (given: string, flags: { json?: true }) => {
        // Whoever pastes the whole key means its id.
        const id = /^mahi_[0-9a-f]{12}/.exec(given)?.[0] ?? given
        const key = await withDatabase((database) => revokeKey(database, id, waitingNotice()))
        if (key === undefined) refuse({ field: '<id>', message: 'names no key: "mahi keys list" lists them' })
        await report(flags, { id, revoked: true }, `Key ${id} is revoked.`)
        tell({ audit: 'revoked', key: id, client: key.client, expires: formatTimestamp(key.expires) })
      }),
    )
}

/** Leaves a line for whatever keeps the command's messages; whoever sits at a terminal has been told. */
function tell(change: KeyChange): void {
  if (!process.stderr.isTTY) say(writeKeyChange(change))
}

function describeKey({ id, client, created, expires, revoked, scopes, eids }: KeyDescription) {
  return {
    id,
    clientId: client,
    scopes,
    eids,
    created: formatTimestamp(created),
    expires: formatTimestamp(expires),
    revoked: revoked === null ? null : formatTimestamp(revoked),
    state: revoked !== null ? 'revoked' : expires <= Date.now() ? 'expired' : 'valid',
  }
}

function readExpiry(text: string): number {
  if (text === 'never') return Date.parse('9999-12-31T23:59:59.999Z')
  const timestamp = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59Z` : text)
  if (timestamp === undefined)
    throw new InvalidArgumentError('It should be a date such as 2027-06-30, or never.')
  if (timestamp.milliseconds <= Date.now()) throw new InvalidArgumentError('It lies in the past.')
  return timestamp.milliseconds
}

function inTwelveMonths(): number {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date.getTime()
}

function checkNames(client: string, eids: readonly string[]): void {
  const faults: Fault[] = [
    ...(isName(client) ? [] : [{ field: '--client', message: `is ${quote(client)}, and ${NAME}` }]),
    ...eids
      .filter((eid) => !isName(eid))
      .map((eid) => ({ field: '--eid', message: `has ${quote(eid)}, and each ${NAME}` })),
  ]
  if (faults.length > 0) throw new InputRefused(faults)
}

const NAME = 'should be at most 64 visible ASCII characters without spaces'

function isName(text: string): boolean {
  return /^[!-~]{1,64}$/.test(text)
}
