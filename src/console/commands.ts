import type { Command } from 'commander'
import { readNames } from '../api/access/key-commands.ts'
import { findSessionKey, listKeys } from '../api/access/keys.ts'
import { LONGEST_NAME, SCOPES } from '../api/access/principal.ts'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { readServiceUrl } from '../foundation/command-line/service-url.ts'
import { say, writeOut } from '../foundation/command-line/terminal.ts'
import { fail, UserError } from '../foundation/faults/user-error.ts'
import { count } from '../foundation/text/format-number.ts'
import { quote } from '../foundation/text/quote.ts'
import { link, ownPath } from './links.ts'
import { IDLE, LINK_LIFETIME, LONGEST, Sessions } from './sessions.ts'

interface Flags {
  key?: string
  eid?: string[]
  name?: string
  url?: string
  endSessions?: true
  json?: true
}

/** The client of the keys that the command creates. */
const CLIENT = 'console'

/** The settings that say where the service is. */
interface Location {
  readonly HOST: string
  readonly PORT: number
  readonly PUBLIC_URL?: string | undefined
}

/** Where a browser finds the service: its public URL, or its port on this machine. */
function locate({ HOST, PORT, PUBLIC_URL }: Location): string {
  const isEvery = HOST === '0.0.0.0' || HOST === '::'
  const host = isEvery ? '127.0.0.1' : HOST.includes(':') ? `[${HOST}]` : HOST
  return PUBLIC_URL ?? `http://${host}:${PORT}`
}

/** Adds `console`, which prints a one-time sign-in link. */
export function addConsoleCommand(
  program: Command,
  withDatabase: WithDatabase,
  readLocation: () => Location,
): void {
  program
    .command('console')
    .description('print a one-time link that signs in to the console')
    .argument('[page]', 'the page to open: its path or its URL, such as /console/submissions')
    .option('--key <id>', 'sign in with this key (default: a key for everything, which lasts 12 hours)')
    .option('--eid <eid...>', 'the organisations that the default key covers')
    .option(
      '--name <name>',
      'who opens the link, for activities and receipts (default: the client of the key)',
    )
    .option('--url <url>', 'the URL of the service (default: PUBLIC_URL, or HOST and PORT)')
    .option('--end-sessions', 'end all sessions and links instead')
    .addOption(jsonOption)
    .action(
      action(async (page: string | undefined, { key, eid = [], name, url, endSessions, json }: Flags) => {
        const flags = json === true ? { json } : {}
        if (endSessions === true) {
          const ended = await withDatabase((database) => new Sessions(database).endAll())
          return report(flags, { ended }, `${count(ended, 'session')} ended.`)
        }
        const { base, to } = readPage(page, url ?? locate(readLocation()))
        const shown = name === undefined ? undefined : readName(name)
        const { eid: eids } = readNames(CLIENT, eid)
        const summary = await withDatabase(async (database) => {
          const wanted = { client: CLIENT, scopes: SCOPES, eids, lifetime: LONGEST, rest: IDLE }
          const keyId = key ?? (await findSessionKey(database, wanted))
          const known = (await listKeys(database)).find(({ id }) => id === keyId)
          if (known === undefined || known.revoked !== null || known.expires <= Date.now()) {
            throw new UserError(`--key: there is no valid key ${keyId}. "mahi keys list" shows the keys.`)
          }
          const secret = await new Sessions(database).createLink(keyId, shown)
          return { url: new URL(link(`/console/link/${secret}`, { to }), base).href, key: keyId }
        })
        if (json === true) return report(flags, summary, '')
        await writeOut(`${summary.url}\n`)
        const minutes = LINK_LIFETIME / 60_000
        say(
          `Open this link within ${minutes} minutes; it works once. The console must be on (CONSOLE=on). The session ends with the key ${summary.key}.`,
        )
      }),
    )
}

/** The name of a person. No user of the operating system is a default: in a container, it is the image's. */
function readName(given: string): string {
  const name = given.trim()
  if (name === '' || name.length > LONGEST_NAME || /\p{C}/u.test(name))
    fail({
      field: '--name',
      message: `must be a name of at most ${LONGEST_NAME} characters without control characters, not ${quote(given)}`,
    })
  return name
}

/** The service and the page that a link is for. The URL of a page is enough: it names both. */
function readPage(page: string | undefined, url: string): { base: string; to: string | undefined } {
  const base = readServiceUrl(url, '--url')
  if (page === undefined) return { base, to: undefined }
  const given = /^https?:\/\//.test(page) ? URL.parse(page) : null
  const path = given === null ? page : given.pathname + given.search
  if (ownPath(path) !== path)
    fail({
      field: 'page',
      message: `must be a page of the console, such as /console/submissions, not ${quote(page)}`,
    })
  return { base: given?.origin ?? base, to: path }
}
