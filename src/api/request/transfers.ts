import type { IncomingMessage } from 'node:http'

const transfers = new WeakSet<IncomingMessage>()

/** Marks a request as an upload or an export, which may take minutes: a stop waits longer for it. */
export function markTransfer(request: IncomingMessage): void {
  transfers.add(request)
}

export function isTransfer(request: IncomingMessage): boolean {
  return transfers.has(request)
}
