import { mayLoseDigits } from './exact-number.ts'

/**
 * Parses JSON. A number of more than 15 digits, such as 9007199254740993, or with too large an exponent becomes its
 * text, because JavaScript may change it; all others are numbers.
 *
 * @throws {SyntaxError}
 */
export function parseExactJson(text: string): unknown {
  return mayLoseDigits(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && mayBeChanged(source, value) ? source : value
}

/** Binary floating-point numbers have all decimal numbers of up to 15 digits that are not too large or too small. */
function mayBeChanged(source: string, value: number): boolean {
  const [mantissa = ''] = source.split(/[eE]/, 1)
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '')
  return digits.length > 15 || !Number.isFinite(value) || (value === 0 && digits !== '')
}
