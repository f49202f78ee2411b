import type { FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import { normaliseAddress } from './address.ts'

/** Names whoever shares limits and budgets: the credential, or the address of a caller without one. */
export function callerOf(request: FastifyRequest): string {
  return request.principal?.id ?? addressOf(request)
}

/** The normalised address of the caller; empty if it has disconnected. */
export function addressOf(request: FastifyRequest): string {
  return (
    normalised((request.ip as string | undefined) ?? '') || normalised(request.socket.remoteAddress ?? '')
  )
}

const normalised = remember(normaliseAddress)
