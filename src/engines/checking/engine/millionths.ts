/** A plain number in millionths, exactly; an empty one is 0. One with more than six places, or without digits, is NaN. */
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
    if (code > 57) return Number.NaN
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

/** The sum of decimal numbers of any size, exactly. Empty ones are 0; `--1` is 1. */
export function sumExactly(numbers: readonly string[]): string {
  const parts = numbers.map((number) => {
    const [, minus = '', whole = '0', fraction = ''] = /^(-*)(\d*)(?:\.(\d+))?$/.exec(number) ?? []
    return { negative: minus.length % 2 === 1, whole, fraction }
  })
  const places = Math.max(...parts.map(({ fraction }) => fraction.length))
  let sum = 0n
  for (const { negative, whole, fraction } of parts) {
    const units = BigInt(whole + fraction.padEnd(places, '0'))
    sum += negative ? -units : units
  }
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, '0')
  const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
  return sum < 0n ? `-${text}` : text
}
