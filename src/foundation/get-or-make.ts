/** The value of a key, which is made and kept if there is none. */
export function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => NoInfer<Value>): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
