import type { Command } from 'commander'
import { createKey, listKeys } from '../api/access/keys.ts'
import { SCOPES } from '../api/access/principal.ts'
import { action, jsonOption, report, type WithDatabase } from '../foundation/command-line/command.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { LINK_LIFETIME, LONGEST, Sessions } from './sessions.ts'

interface Flags {
  key?: string
  eid?: string[]
  url: string
  endSessions?: true
  json?: true
}

/** Adds `console`, which prints a one-time sign-in link. */
export function addConsoleCommand(program: Command, withDatabase: WithDatabase): void {
  program
    .command('console')
    .description('print a one-time link that signs in to the console')
    .option('--key <id>', 'sign in with this key (default: a new key for everything, for 12 hours)')
    .option('--eid <eid...>', 'the organisations that the new key covers')
    .option('--url <url>', 'the URL of the service', 'http://127.0.0.1:8080')
    .option('--end-sessions', 'end all sessions and links instead')
    .addOption(jsonOption)
    .action(
      action(async ({ key, eid = [], url, endSessions, json }: Flags) => {
        if (endSessions === true) {
          const ended = await withDatabase((database) => new Sessions(database).endAll())
          return report(
            json === true ? { json } : {},
            { ended },
            `${ended} ${ended === 1 ? 'session' : 'sessions'} ended.`,
          )
        }
        const summary = await withDatabase(async (database) => {
          const keyId =
            key ??
            (await createConsoleKey(
              database,
              eid.flatMap((each) => each.split(',')),
            ))
          const known = (await listKeys(database)).find(({ id }) => id === keyId)
          if (known === undefined || known.revoked !== null || known.expires <= Date.now()) {
            throw new UserError(`--key: there is no valid key ${keyId}. "mahi keys list" shows the keys.`)
          }
          const secret = await new Sessions(database).createLink(keyId)
          return { url: new URL(`/console/link/${secret}`, url).href, key: keyId }
        })
        const minutes = LINK_LIFETIME / 60_000
        await report(
          json === true ? { json } : {},
          summary,
          `Open this link within ${minutes} minutes; it works once:\n\n  ${summary.url}\n\nThe console must be on (CONSOLE=on). The session ends with the key ${summary.key}.`,
        )
      }),
    )
}

/** Creates a key only for the session; it is never shown. */
async function createConsoleKey(
  database: Parameters<typeof createKey>[0],
  eids: readonly string[],
): Promise<string> {
  const { id } = await createKey(database, {
    client: 'console',
    scopes: SCOPES,
    eids,
    expires: Date.now() + LONGEST,
  })
  return id
}
