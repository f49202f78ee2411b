/** Text that needs no normalisation: printable ASCII without leading or trailing spaces. */
const CLEAN = /^[!-~](?:[ -~]*[!-~])?$/
const NON_BREAKING_SPACES = /[\u00a0\u2007\u202f]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point; tab and line ends are text.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** Whether text can be stored unchanged, without further checks. Nearly all text of a catalogue can. */
export function isClean(text: string): boolean {
  return CLEAN.test(text)
}

/**
 * Normalises text for storage: Unicode NFC, ordinary spaces for non-breaking ones, no leading or trailing white
 * space. Macrons and everything else are kept.
 */
export function normaliseText(text: string): string {
  return text.replace(NON_BREAKING_SPACES, ' ').normalize('NFC').trim()
}

/** The first control character of a text other than a tab or a line break. */
export function findControl(
  text: string,
): { readonly character: string; readonly index: number } | undefined {
  const control = CONTROL.exec(text)
  return control === null ? undefined : { character: control[0], index: control.index }
}

/** Why a string cannot be stored or searched for; `undefined` if it can. */
export function findTextFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'has an unpaired surrogate, which is not valid Unicode'
  const control = findControl(text)
  if (control === undefined) return undefined
  const code = control.character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
  return `has the control character U+${code}`
}
