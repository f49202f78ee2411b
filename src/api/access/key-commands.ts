import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  action,
  jsonOption,
  report,
  type WithDatabase,
  waitingNotice,
} from '../../foundation/command-line/command.ts'
import { readWhole } from '../../foundation/command-line/option-values.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { type Fault, fail, UserError } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp, parseTimestamp } from '../../foundation/text/timestamp.ts'
import { showLocal } from '../../foundation/text/zoned-time.ts'
import { reportChange } from './audit.ts'
import { createKey, type KeyDescription, listKeys, renameKey, revokeKeys, rotateKey } from './keys.ts'
import { DEFAULT_SCOPES, EID, SCOPES, type Scope } from './principal.ts'

const DAY = 86_400_000

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
        if (!json) say(`Key ${id} for ${client}, ${describeExpiry(expires)}. It will not be shown again:`)
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

  addChangeCommands(keys, withDatabase)
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

/** Adds `keys revoke`, `rotate` and `rename`. */
function addChangeCommands(keys: Command, withDatabase: WithDatabase): void {
  keys
    .command('revoke')
    .description('revoke a key immediately')
    .argument('<id>', 'id of the key, such as mahi_0123456789ab')
    .addOption(jsonOption)
    .action(
      action(async (given: string, flags: { json?: true }) => {
        const id = readKeyId(given)
        const [key] = await withDatabase((database) => revokeKeys(database, [id], waitingNotice()))
        if (key === undefined) refuseUnknown()
        await report(flags, { id, revoked: true }, `Key ${id} is revoked.`)
        if (key.revoked !== null) return
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
          say(`Key ${id} for ${made.client} is ${describeExpiry(old.expires)}.`)
          say(`Key ${made.id} replaces it, ${describeExpiry(made.expires)}. It will not be shown again:`)
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

interface RotateFlags {
  overlap: number
  expires?: number
  json?: true
}

function refuseUnknown(): never {
  fail({ field: '<id>', message: 'names no key: "mahi keys list" lists them' })
}

/** The expiry of a key that does not expire: the last instant that RFC 3339 can write. */
const NEVER = Date.parse('9999-12-31T23:59:59.999Z')

/** How long a key is valid, for people: to the minute, because it can end within a day. */
function describeExpiry(expires: number): string {
  if (expires === NEVER) return 'valid without an end'
  return expires <= Date.now() ? 'no longer valid' : `valid until ${showLocal(expires)}`
}

/** Reads a date, a date-time or `never`. */
export function readExpiry(text: string): number {
  if (text === 'never') return NEVER
  const timestamp = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59Z` : text)
  if (timestamp === undefined)
    throw new InvalidArgumentError('It must be a date such as 2027-06-30, a date-time, or never.')
  if (timestamp.milliseconds <= Date.now()) throw new InvalidArgumentError('It is in the past.')
  return timestamp.milliseconds
}

export function inTwelveMonths(): number {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date.getTime()
}

/**
 * Normalises the name of a client and its organisations.
 *
 * @param listed each may be several comma-separated identifiers
 * @throws {UserError} with every fault
 */
export function readNames(given: string, listed: readonly string[]): { name: string; eid: string[] } {
  const name = tidyName(given)
  const eid = listed.flatMap((text) => text.split(',')).map((text) => text.trim())
  const faults: Fault[] = [
    ...(isClientName(name) ? [] : [refusedName(name)]),
    ...eid
      .filter((each) => !EID.test(each))
      .map((each) => ({
        field: '--eid',
        message: `must be identifiers of 1 to 64 visible ASCII characters, comma-separated, not ${quote(each)}`,
      })),
  ]
  if (faults.length > 0) throw new UserError(faults)
  return { name, eid }
}

/** @throws {UserError} */
export function readClientName(given: string): string {
  const name = tidyName(given)
  if (!isClientName(name)) throw new UserError([refusedName(name)])
  return name
}

/** The id of a key, also if the whole key is given. */
export function readKeyId(given: string): string {
  return /^mahi_[0-9a-f]{12}/.exec(given)?.[0] ?? given
}

function tidyName(text: string): string {
  return text.normalize('NFC').trim()
}

function refusedName(name: string): Fault {
  return { field: '--client', message: `must be ${CLIENT_NAME}, not ${quote(name)}` }
}

const CLIENT_NAME = '1 to 64 letters, digits, punctuation marks or single spaces between words'

/** A name in any script, without control characters or characters that change the text direction. */
function isClientName(text: string): boolean {
  return (
    /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+(?: [\p{L}\p{M}\p{N}\p{P}\p{S}]+)*$/u.test(text) && [...text].length <= 64
  )
}
