import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'

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

/**
 * Normalises the address that identifies a caller, in whichever form a proxy writes it. An IPv4 address mapped into
 * IPv6 becomes plain IPv4. An IPv6 address becomes its /64 network, which usually belongs to one caller. Returns an
 * empty string if the text is not an IP address.
 *
 * @param text from a connection or `X-Forwarded-For`
 */
export function normaliseAddress(text: string): string {
  const address = withoutPort(text.trim())
  if (isIP(address) === 4) return address
  if (isIP(address) !== 6) return ''
  const groups = expandIpv6(address)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** Some proxies append the port; a zone (`%eth0`) has a meaning only on the machine that wrote it. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1]
  const address = bracketed ?? (/^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text)
  return address.split('%', 1)[0] ?? ''
}

/**
 * The eight groups of an IPv6 address without a zone (RFC 4291, section 2.2). In a URL, an IPv4 address at its end is
 * two groups.
 */
function expandIpv6(address: string): number[] {
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = readGroups(head)
  const after = readGroups(tail)
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function readGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
