import { dropEnd } from './drop-end.ts'

/** Matches every number that a double cannot hold exactly, and some that it can: a cheap first test. */
const SUSPICIOUS = /[\d.]{16}|\d[eE][-+]?\d{3}/

/** Whether a JSON text may contain a number that `JSON.parse` changes. */
export function mayLoseDigits(json: string): boolean {
  return SUSPICIOUS.test(json)
}

/** Whether a number equals the text that it was read from: `1.50` is 1.5, but `0.12345678901234567` is not. */
export function isExact(text: string, number: number): boolean {
  if (text.length < 16 && !/[eE]/.test(text)) return true
  return canonical(text) === canonical(String(number))
}

/** The sign, the digits without leading or trailing zeros, and the exponent of the last digit. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const trimmed = dropEnd(digits, (digit) => digit === '0')
  if (trimmed === '') return '0'
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + digits.length - trimmed.length}`
}
