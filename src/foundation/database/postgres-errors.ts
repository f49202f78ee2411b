import { DatabaseFull, DatabaseUnavailable, DatabaseUnusable } from './database.ts'

/** The server or the network did not respond in time, not even with an error. */
export class ServerSilent extends DatabaseUnavailable {}

/** Turns a driver's error into one that says whether to retry or what to fix; other errors are returned unchanged. */
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
  if (advice !== undefined)
    return new (code === '53100' ? DatabaseFull : DatabaseUnusable)(`${address} ${advice}`, cause)
  if ('syscall' in error && NETWORK_CALL.test(String(error.syscall)))
    return new DatabaseUnavailable(`${address} did not respond (${code}). Is the server running?`, cause)
  return error
}

/** Whether the user lacks a privilege. */
export function isForbidden(error: unknown): boolean {
  return (
    error instanceof DatabaseUnusable && (error.cause as { code?: unknown } | undefined)?.code === '42501'
  )
}

type Sentences = readonly (readonly [prefix: string, sentence: string])[]

function findByPrefix(sentences: Sentences, text: string): string | undefined {
  return sentences.find(([prefix]) => text.startsWith(prefix))?.[1]
}

/** The driver's messages when it times out itself, which have no code. */
const SILENT_MESSAGE =
  /^(?:Query read timeout|timeout expired|Connection terminated due to connection timeout)$/

/** System calls that contact the server, unlike `open` on a file. */
const NETWORK_CALL = /^(?:connect|read|write|shutdown|getaddrinfo)$/

const LOST = 'disconnected. Is the server running?'

/** Temporary conditions, by the start of the SQLSTATE, or of the driver's message if there is none. */
const UNAVAILABLE: Sentences = [
  ['Connection terminated', LOST],
  ['Connection ended', LOST],
  ['Client has encountered a connection error', LOST],
  ['Client was closed', LOST],
  // Node.js names no system call where the other end closed the connection before a write.
  ['EPIPE', LOST],
  ['timeout exceeded when trying to connect', 'is busy: no connection became free in time'],
  ['08', LOST],
  ['57P01', 'is shutting down, or has closed this connection'],
  ['57P02', 'has crashed and is recovering'],
  ['57P03', 'is starting up or shutting down'],
  ['57P05', 'closed an idle connection'],
  ['57014', 'is busy: it took too long to respond'],
  ['53200', 'is out of memory'],
  ['53300', 'has no free connection. Raise its max_connections, or lower DATABASE_POOL_SIZE'],
  ['25006', 'is read-only. Set DATABASE_URL to the primary'],
]

const UNTRUSTED =
  'has an untrusted certificate. Set sslrootcert=FILE in DATABASE_URL to its certificate authority, or turn off the check with sslmode=no-verify'

/** Conditions that last until somebody fixes them. */
const ADVICE: Sentences = [
  ['28P01', 'rejected the user or the password. Check DATABASE_URL'],
  ['28', "rejects this user, or connections from this host. Check DATABASE_URL and the server's pg_hba.conf"],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE', 'requires a password. Add it to DATABASE_URL'],
  ['3D000', 'does not exist. Create the database, or name another in DATABASE_URL'],
  ['42501', 'does not let this user create or read tables. Grant it the privileges, or name another user'],
  ['3F000', 'has no schema of that name. Create it, or change the search path in DATABASE_URL'],
  ['53100', 'has no disk space left. Nothing was changed. Free some space and run the command again'],
  [
    'The server does not support SSL',
    'does not support TLS. Enable it on the server, or remove sslmode from DATABASE_URL',
  ],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['CERT_HAS_EXPIRED', UNTRUSTED],
  ['ERR_TLS_CERT_ALTNAME_INVALID', UNTRUSTED],
]
