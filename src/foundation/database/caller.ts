import { AsyncLocalStorage } from 'node:async_hooks'

interface Context {
  readonly caller: string
  readonly request: string | undefined
}

const contexts = new AsyncLocalStorage<Context>()

/** The process itself, whose commands and timers have no share. */
const ITSELF = ''

/**
 * Runs work for a caller, who has a share of the connections and takes turns with others.
 *
 * @param request the id of the request, as in its log line
 */
export function actFor<T>(caller: string, work: () => T, request?: string): T {
  return contexts.run({ caller, request }, work)
}

export function currentCaller(): string {
  return contexts.getStore()?.caller ?? ITSELF
}

/** The id of the request in progress, which jobs name so that the log lines of both can be joined. */
export function currentRequest(): string | undefined {
  return contexts.getStore()?.request
}
