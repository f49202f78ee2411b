import { AsyncLocalStorage } from 'node:async_hooks'

/** The request that some work belongs to: jobs name it, so that the log and the traces of both can be joined. */
export interface Origin {
  /** The id of the request, as in its log line. */
  readonly request: string
  /** The `traceparent` of its span, if traces are on. */
  readonly trace?: string | undefined
}

interface Context {
  readonly caller: string
  readonly origin: (() => Origin) | undefined
}

const contexts = new AsyncLocalStorage<Context>()

/** The process itself, whose commands and timers have no share. */
const ITSELF = ''

/**
 * Runs work for a caller, who has a share of the connections and takes turns with others.
 *
 * @param origin names the request; called only by work that stores it
 */
export function actFor<T>(caller: string, work: () => T, origin?: () => Origin): T {
  return contexts.run({ caller, origin }, work)
}

export function currentCaller(): string {
  return contexts.getStore()?.caller ?? ITSELF
}

/** The request in progress; `undefined` for commands and timers. */
export function currentOrigin(): Origin | undefined {
  return contexts.getStore()?.origin?.()
}
