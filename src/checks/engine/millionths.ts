/** A decimal number in millionths, exactly; an empty one is 0, and one with more than six places is NaN. */
export function toMillionths(text: string): number {
  let number = 0
  let places = -1
  const negative = text.charCodeAt(0) === 45
  for (let at = negative ? 1 : 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 46) {
      places = 0
      continue
    }
    if (places === 6) {
      if (code !== 48) return Number.NaN
      continue
    }
    number = number * 10 + code - 48
    if (places !== -1) places++
  }
  for (let place = Math.max(places, 0); place < 6; place++) number *= 10
  return negative ? -number : number
}
