/**
 * A value without what programs and people change by accident: case, spaces, punctuation, invisible characters and
 * leading zeros. Values with the same form are probably meant to be the same.
 */
export function toPlainForm(value: string): string {
  return value
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+(?=.)/, '')
    .toUpperCase()
}
