/** FNV-1a of 32 bits, of the state that a text leads to. */
export const fnv = (text: string, state = 0x811c9dc5) => {
  let hash = state
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** Makes 2^`blocks` texts that all have one hash of FNV-1a, from pairs of blocks that lead to the same state. */
export function collide(blocks: number): string[] {
  let [texts, state] = [[''], fnv('')]
  for (let block = 0; block < blocks; block++) {
    const known = new Map<number, string>()
    for (let number = 0; ; number++) {
      // Spread over all lengths and letters: neighbouring short texts hardly ever have one hash.
      const letters = (Math.imul(number, 0x9e3779b1) >>> 0).toString(36)
      const hash = fnv(letters, state)
      const other = known.get(hash)
      known.set(hash, letters)
      if (other === undefined) continue
      texts = texts.flatMap((text) => [text + other, text + letters])
      state = hash
      break
    }
  }
  return texts
}
