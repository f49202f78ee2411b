import { quote } from '../../foundation/text/quote.ts'

/** An amount with or without a sign of a currency, commas or spaces between thousands, and `k` for a thousand. */
const AMOUNT = /(?:[A-Z]{2,3} ?)?[$€£]? ?(\d{1,3}(?:[, ]\d{3})+|\d+)(\.\d+)? ?(k)?/i.source
const RANGE = new RegExp(`^${AMOUNT} ?(?:-|–|—|to) ?${AMOUNT}$`, 'i')

/**
 * Reads a range of pay such as `$54k-$61k`, `54,000 – 61,000` or `NZ$54 000 to NZ$61 000`. In `54-61k` both amounts
 * are thousands.
 *
 * @throws {Error} saying what is allowed
 */
export function readRange(text: string): readonly [number, number] {
  const match = RANGE.exec(text.replaceAll(/\s+/g, ' ').trim())
  if (match === null) throw new Error(`must be a range such as $54k-$61k, not ${quote(text, 40)}`)
  const [, low = '', lowPart = '', lowUnit, high = '', highPart = '', highUnit] = match
  const [first, second] = [
    toAmount(low, lowPart, lowUnit ?? (Number(low) < 1000 ? highUnit : undefined)),
    toAmount(high, highPart, highUnit),
  ]
  return [first, second]
}

function toAmount(whole: string, fraction: string, unit: string | undefined): number {
  const digits = `${whole.replaceAll(/[, ]/g, '')}${fraction}`
  // Not a product: 54.3 times 1000 is not exact.
  return unit === undefined ? Number(digits) : Number(`${digits}e3`)
}
