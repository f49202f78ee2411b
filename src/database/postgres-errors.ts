import { DatabaseUnavailable, DatabaseUnusable } from './database.ts'

/** The server, or the network on the way to it, has said nothing in time: not even that it is away. */
export class ServerSilent extends DatabaseUnavailable {}

/** Tells a server that is away, or was lost on the way, from one that will not have us; other errors stay as they are. */
export function explain(error: unknown, address: string): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnusable || error instanceof DatabaseUnavailable)
    return error
  const code = 'code' in error ? String(error.code) : ''
  const cause = { cause: error }
  if (code === 'ETIMEDOUT' || (code === '' && SILENT_MESSAGE.test(error.message))) {
    return new ServerSilent(`${address} did not respond in time. Is the server running?`, cause)
  }
  const unavailable = findByPrefix(UNAVAILABLE, code || error.message)
  if (unavailable !== undefined) return new DatabaseUnavailable(`${address} ${unavailable}`, cause)
  const advice = findByPrefix(ADVICE, code || error.message)
  if (advice !== undefined) return new DatabaseUnusable(`${address} ${advice}`, cause)
  if ('syscall' in error && NETWORK_CALL.test(String(error.syscall)))
    return new DatabaseUnavailable(`${address} did not respond (${code}). Is the server running?`, cause)
  return error
}

type Sentences = readonly (readonly [prefix: string, sentence: string])[]

function findByPrefix(sentences: Sentences, text: string): string | undefined {
  return sentences.find(([prefix]) => text.startsWith(prefix))?.[1]
}

/** What the driver says when its own time is up, without a code. */
const SILENT_MESSAGE =
  /^(?:Query read timeout|timeout expired|Connection terminated due to connection timeout)$/

/** System calls that reach for the server; to `open` a file is none of them. */
const NETWORK_CALL = /^(?:connect|read|write|shutdown|getaddrinfo)$/

const LOST = 'was lost on the way: is the server running?'

/** What passes: SQLSTATEs, or what the driver says where there is none, by how they begin. */
const UNAVAILABLE: Sentences = [
  ['Connection terminated', LOST],
  ['Connection ended', LOST],
  ['Client has encountered a connection error', LOST],
  ['Client was closed', LOST],
  ['timeout exceeded when trying to connect', 'is busy: no connection became free in time'],
  ['08', LOST],
  ['57P01', 'is shutting down, or has ended this connection'],
  ['57P02', 'has crashed and is recovering'],
  ['57P03', 'is starting up or shutting down'],
  ['57P05', 'has ended an idle connection'],
  ['57014', 'is busy: it took too long to answer'],
  ['53200', 'has no memory left for this'],
  ['53300', 'has no connection left: raise its max_connections, or lower DATABASE_POOL_SIZE'],
  ['25006', 'is read-only: name the primary in DATABASE_URL'],
]

const UNTRUSTED =
  "has a certificate that can't be trusted: name its authority with sslrootcert=FILE in DATABASE_URL, or do without the check with sslmode=no-verify"

/** What stays so until somebody acts. */
const ADVICE: Sentences = [
  ['28P01', 'refuses the user or the password: check DATABASE_URL'],
  ['28', 'refuses this user, or connections from here: check DATABASE_URL and the pg_hba.conf of the server'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE', 'asks for a password: put one into DATABASE_URL'],
  ['3D000', 'has no such database: create it, or name another in DATABASE_URL'],
  ['42501', 'does not let this user create or read tables: grant it the rights, or name another user'],
  ['3F000', 'has no such schema: create it, or change the search path in DATABASE_URL'],
  ['53100', 'has no room left on its disk: nothing was changed; free some and run the command again'],
  [
    'The server does not support SSL',
    'offers no TLS: turn it on there, or leave sslmode out of DATABASE_URL',
  ],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['CERT_HAS_EXPIRED', UNTRUSTED],
  ['ERR_TLS_CERT_ALTNAME_INVALID', UNTRUSTED],
]

/** Whether a standby cancelled the query, because what it replays would take away what the query reads. */
export function isReplayConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '40001'
}
