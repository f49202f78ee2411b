/** Whether a text has at most this many characters. JSON Schema counts code points, not UTF-16 code units. */
export function isAtMost(text: string, characters: number): boolean {
  return text.length <= characters || (text.length <= 2 * characters && countCodePoints(text) <= characters)
}

export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/**
 * Compares by code point, as the databases do. JavaScript compares UTF-16 code units, which puts characters beyond
 * U+FFFF before those from U+E000 on.
 */
export function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index++) {
    const [a, b] = [one.charCodeAt(index), other.charCodeAt(index)]
    if (a === b) continue
    const surrogates = Number(a >= 0xd800 && a <= 0xdfff) - Number(b >= 0xd800 && b <= 0xdfff)
    return surrogates === 0 ? a - b : surrogates
  }
  return one.length - other.length
}
