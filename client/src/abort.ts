const actions = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Has `act` called when the signal aborts, until the returned function is called. However many calls share a signal,
 * it has one listener: Node.js 20 takes more than ten for a leak, and warns.
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
