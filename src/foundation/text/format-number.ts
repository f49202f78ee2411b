/** Where a group of three digits begins. */
const THOUSANDS = /(?<=\d)(?=(?:\d{3})+$)/g
let format: Intl.NumberFormat | undefined

/** A number in a sentence: `2,431`. */
export function formatNumber(number: number): string {
  // Intl takes 12 ms to load, in each process of a command, and a check can write a million messages.
  if (Number.isSafeInteger(number)) return String(number).replace(THOUSANDS, ',')
  format ??= new Intl.NumberFormat('en-NZ')
  return format.format(number)
}

/** A number in a cell, which is empty without one. */
export function formatOptional(number: number | undefined): string {
  return number === undefined ? '' : formatNumber(number)
}

/** `1 error`, `2,431 errors`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(number)} ${number === 1 ? noun : plural}`
}

/** A size in a sentence: `44 KiB`, `12.3 MiB`, `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.ceil(bytes / 1024)} KiB`
  const mebibytes = bytes / 2 ** 20
  return mebibytes < 1024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`
}
