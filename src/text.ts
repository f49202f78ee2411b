import { closest, distance } from 'fastest-levenshtein'

/** Text that is already as it should be: printable ASCII without a space at either end. */
const CLEAN = /^[!-~](?:[ -~]*[!-~])?$/
const NON_BREAKING_SPACES = /[\u00a0\u2007\u202f]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point; tab and line ends are text.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** Whether text needs no further look: it is fit to be stored as it is. Nearly all of a catalogue's is. */
export function isClean(text: string): boolean {
  return CLEAN.test(text)
}

/**
 * Text as it is stored: Unicode NFC, spaces for non-breaking spaces, no white space at either end. Macrons and
 * everything else stay as they are.
 */
export function normaliseText(text: string): string {
  return text.replace(NON_BREAKING_SPACES, ' ').normalize('NFC').trim()
}

/** What makes a string unfit to be stored or looked for, or `undefined` if it is fit. */
export function findTextFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'has half of a surrogate pair, which is not Unicode text'
  const control = CONTROL.exec(text)
  if (control === null) return undefined
  return `has the control character U+${control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** ` (did you mean "..."?)` where one of the names is near to the given one, otherwise nothing. */
export function suggest(name: string, known: readonly string[]): string {
  const lower = name.toLowerCase()
  const nearest =
    known.length === 0
      ? undefined
      : closest(
          lower,
          known.map((each) => each.toLowerCase()),
        )
  const match = known.find((each) => each.toLowerCase() === nearest)
  if (match === undefined || nearest === undefined) return ''
  return distance(lower, nearest) <= Math.max(2, match.length / 3) ? ` (did you mean "${match}"?)` : ''
}

/** The start of a value that a message repeats: enough to recognise it, never a flood. */
export function quote(value: string, length = 60): string {
  return JSON.stringify(value.length > length ? `${value.slice(0, length)}…` : value)
}

/**
 * Compares as the databases do, by code point. JavaScript's own order is by UTF-16 unit, which puts the characters
 * beyond U+FFFF before those from U+E000 on.
 */
export function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index++) {
    const [a, b] = [one.charCodeAt(index), other.charCodeAt(index)]
    if (a === b) continue
    const surrogates = Number(a >= 0xd800 && a <= 0xdfff) - Number(b >= 0xd800 && b <= 0xdfff)
    return surrogates === 0 ? a - b : surrogates
  }
  return one.length - other.length
}

/**
 * The same text in one piece. What has been put together of others stays in pieces until it is read, and is copied piece
 * by piece into every text that it is a part of.
 */
export function flatten(text: string): string {
  return Buffer.from(text).toString()
}
