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

/** The first control character of a text that is not a tab or a line end. */
export function findControl(
  text: string,
): { readonly character: string; readonly index: number } | undefined {
  const control = CONTROL.exec(text)
  return control === null ? undefined : { character: control[0], index: control.index }
}

/** What makes a string unfit to be stored or looked for, or `undefined` if it is fit. */
export function findTextFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'has half of a surrogate pair, which is not Unicode text'
  const control = findControl(text)
  if (control === undefined) return undefined
  const code = control.character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
  return `has the control character U+${code}`
}
