import { InvalidArgumentError } from 'commander'
import { refuse } from '../../foundation/faults/faults.ts'
import { quote } from '../../foundation/text/quote.ts'

/** The most characters of a basis of pay. */
const MOST = 100

/** Reads `--pay-basis`: text that begins with the code of a currency (ISO 4217). */
export function parsePayBasis(text: string): string {
  const basis = text.trim()
  const [currency = ''] = /^[A-Z]{3}\b/.exec(basis) ?? []
  if (!Intl.supportedValuesOf('currency').includes(currency)) {
    throw new InvalidArgumentError(
      'It must begin with the code of a currency, such as "NZD 2025, New Zealand".',
    )
  }
  if (basis.length > MOST || !/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(basis)) {
    throw new InvalidArgumentError(`It must be one line of at most ${MOST} characters.`)
  }
  return basis
}

/**
 * What all amounts of pay will be after an import: a replaced catalogue has those of the import.
 *
 * @param before of the catalogue; empty if no import stated it
 * @throws {InputRefused} if amounts of two kinds would be mixed
 */
export function decidePayBasis(
  before: string,
  { payBasis, replace = false }: { readonly payBasis?: string; readonly replace?: boolean },
): string {
  if (replace) return payBasis ?? ''
  if (payBasis !== undefined && before !== '' && payBasis !== before) {
    refuse({
      field: '--pay-basis',
      message: `is ${quote(payBasis)}, and the amounts in the catalogue are ${quote(before)}: both would be mixed. Give the same, or import everything with --replace`,
    })
  }
  return payBasis ?? before
}
