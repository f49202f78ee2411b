// biome-ignore lint/suspicious/noControlCharactersInRegex: these may be in no published text.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** The beginning of a text that is longer than a finding may show. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}

/** The beginning of a value, as a sentence shows it. */
export function shorten(value: string): string {
  return cut(value, 60)
}

/**
 * Text as a finding may show it: control characters, and the unpaired surrogates that JSON may have, would make it
 * unfit to be published.
 */
export function toShown(text: string): string {
  const whole = text.toWellFormed()
  return CONTROL.test(whole) ? whole.replace(CONTROL, showControl) : whole
}

function showControl(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
}
