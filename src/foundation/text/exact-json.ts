/** A text that may hold a number which JavaScript would change: one with many digits, or with a large exponent. */
const SUSPECT = /\d[\d.]{15}|[eE][+-]?\d{3}/

/**
 * Parses JSON. A number that JavaScript would change, such as 9007199254740993, becomes its text; all others are
 * numbers.
 *
 * @throws {SyntaxError}
 */
export function parseExactJson(text: string): unknown {
  return SUSPECT.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && isChanged(source, value) ? source : value
}

/** Binary floating-point numbers have all decimal numbers of up to 15 digits that are not too large or too small. */
function isChanged(source: string, value: number): boolean {
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
  return digits.length > 15 || !Number.isFinite(value) || (value === 0 && digits !== '')
}
