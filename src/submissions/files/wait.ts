import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { text } from '../../api/contract/fields.ts'
import { hasLeft } from '../../api/request/has-left.ts'
import { pauseSince } from '../../foundation/jobs/pause.ts'
import { Type } from '../../foundation/schema/type.ts'
import type { SubmissionOptions } from '../submission/options.ts'

/** The longest wait for work in a worker, in seconds: shorter than the timeouts of common proxies. */
export const MAX_WAIT = 30

/** A request, and what its caller prefers. */
export interface Caller {
  readonly request: FastifyRequest
  readonly header: { readonly Prefer?: string }
}

/** @param usual seconds to wait for a caller that states no preference */
export const preferHeader = (usual: number) =>
  Type.Object({
    Prefer: text(
      `\`wait=SECONDS\` (RFC 7240), ${MAX_WAIT} at most${usual === 0 ? '' : ` and by default, or \`respond-async\``}; other preferences are ignored.`,
      { maxLength: 1000 },
    ),
  })

/** The header of a response that may have been waited for, as it is declared. */
export const PREFERENCE_APPLIED = {
  'preference-applied': {
    description: 'The longest wait, such as `wait=30`; absent if the request did not wait.',
    type: 'string',
  },
}

/** That header, if the response was waited for. */
export function stateWait(seconds: number): Readonly<Record<string, string>> {
  return seconds === 0 ? {} : { 'preference-applied': `wait=${seconds}` }
}

/** The seconds that the caller is willing to wait (RFC 7240, sections 4.1 and 4.3). */
export function readWait(prefer = '', usual = 0): number {
  const stated = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?/i.exec(prefer)?.[1]
  if (stated !== undefined) return Math.min(Number(stated), MAX_WAIT)
  return /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(prefer) ? 0 : usual
}

/** Reads the state of work until it has ended, the time is over, or nobody waits any more. */
export async function waitFor<State extends { readonly completed: number | null }>(
  { access, isStopping }: Pick<SubmissionOptions, 'access' | 'isStopping'>,
  request: FastifyRequest,
  seconds: number,
  read: () => Promise<State | undefined>,
): Promise<State | undefined> {
  const began = performance.now()
  for (;;) {
    const state = await read()
    const isOver = performance.now() - began >= seconds * 1000 || isStopping() || hasLeft(request)
    if (state === undefined || state.completed !== null || isOver) {
      // A suspension ends runs at once: the check of access before the response must know of it, also if it began before
      // the first reading.
      if (seconds > 0) await access.refresh()
      return state
    }
    await sleep(pauseSince(began))
  }
}
