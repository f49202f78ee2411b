import type { FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import { normaliseAddress } from './address.ts'

/** Identifies the caller for limits and budgets: by its credential, or else by its address. */
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
