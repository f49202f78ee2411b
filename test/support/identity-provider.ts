import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { SCOPES } from '../../src/api/access/principal.ts'
import { listenOn } from './connection.ts'

export interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/**
 * Starts a real identity provider on loopback, for one test: a user who signs in as `reader` may act for
 * organisation 1001, everybody else for none; `everything` has every scope.
 */
export async function startIdentityProvider(
  redirectUri: (issuer: string) => string,
): Promise<IdentityProvider> {
  const server = createServer()
  const issuer = `http://127.0.0.1:${await listenOn(server)}`
  const client = { clientId: 'mahi', clientSecret: 'a-secret-of-the-tests-only' }
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [redirectUri(issuer)],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['for the tests only'] },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'eid', 'mahi_scopes'], profile: ['name'] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({
        sub,
        name: 'A Person',
        ...(sub === 'reader' && { eid: ['1001'] }),
        ...(sub === 'everything' && { mahi_scopes: SCOPES }),
      }),
    }),
  })
  server.on('request', provider.callback())
  return { issuer, ...client }
}
