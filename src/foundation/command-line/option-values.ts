import { InvalidArgumentError } from 'commander'
import { formatNumber } from '../text/format-number.ts'

/** Creates a reader of whole numbers. */
export function readWhole(least: number, most: number): (text: string) => number {
  const range = `${formatNumber(least)} to ${formatNumber(most)}`
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a whole number from ${range}.`)
  }
}
