const actions = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `act` when the signal aborts, until the returned function is called. All calls that share a signal use one
 * listener, because Node.js 20 reports more than ten as a leak.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  let acts = actions.get(signal)
  if (acts === undefined) {
    const added = new Set<() => void>()
    acts = added
    actions.set(signal, acts)
    signal.addEventListener('abort', () => {
      for (const each of added) each()
    })
  }
  acts.add(act)
  return () => acts.delete(act)
}
