import type { FastifyInstance } from 'fastify'
import { UserError } from '../../foundation/faults/user-error.ts'

interface ListenAt {
  /** The setting that names the port. */
  readonly setting: string
  readonly port: number
  readonly host: string
  /** The setting that names the host. */
  readonly hostSetting?: string
}

/**
 * Starts listening.
 *
 * @throws {UserError} if the port is in use or not allowed: the message says what to do
 */
export async function listen<T>(at: ListenAt, start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    const message = explain((error as NodeJS.ErrnoException).code, at)
    if (message === undefined) throw error
    throw new UserError(message, { cause: error })
  }
}

/**
 * Connections that may wait to be accepted, which takes some 0.2 s for all of them. A client that finds no room connects
 * again after a second.
 */
const BACKLOG = 1_024

/**
 * Starts accepting requests, and returns the URL.
 *
 * @throws {UserError} if the port is in use or not allowed: the message says what to do
 */
export function listenForRequests(
  app: FastifyInstance,
  { HOST: host, PORT: port }: { readonly HOST: string; readonly PORT: number },
): Promise<string> {
  return listen({ setting: 'PORT', port, host }, () => app.listen({ host, port, backlog: BACKLOG }))
}

/** What to do about an error of the system, by its code. */
function explain(
  code: string | undefined,
  { setting, port, host, hostSetting = 'HOST' }: ListenAt,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is in use by another process: choose another with ${setting}`
    case 'EACCES':
      return `port ${port} needs privileges that this user does not have: choose another with ${setting}`
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return `this machine does not have the address ${host}: choose another with ${hostSetting}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host ${host} is unknown: choose another with ${hostSetting}`
    default:
      return undefined
  }
}
