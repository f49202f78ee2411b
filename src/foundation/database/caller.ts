import { AsyncLocalStorage } from 'node:async_hooks'

interface Context {
  /** Who has a share of the connections and takes turns with others. */
  readonly caller: string
  /** The id of the request, as in its log line. */
  readonly request?: string
  /** Throws if the request may no longer be made. */
  readonly assertAllowed?: () => void
}

const contexts = new AsyncLocalStorage<Context>()

/** The process itself, whose commands and timers have no share. */
const ITSELF = ''

/** Runs the work of a request. */
export function actFor<T>(context: Context, work: () => T): T {
  return contexts.run(context, work)
}

/** Runs work of the process itself although a request causes it: what cleans up must not fail with its caller. */
export function actForItself<T>(work: () => T): T {
  return contexts.run({ caller: ITSELF }, work)
}

/**
 * Checks right before a change is committed that its request may still be made: its credential can have ended while its
 * body arrived or it waited.
 */
export function assertStillAllowed(): void {
  contexts.getStore()?.assertAllowed?.()
}

export function currentCaller(): string {
  return contexts.getStore()?.caller ?? ITSELF
}

/** The id of the request in progress, which jobs name so that the log lines of both can be joined. */
export function currentRequest(): string | undefined {
  return contexts.getStore()?.request
}
