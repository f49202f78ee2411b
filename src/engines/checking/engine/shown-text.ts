// biome-ignore lint/suspicious/noControlCharactersInRegex: these may be in no published text.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** The beginning of a text that is longer than a finding may show. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}

/** Text as a finding may show it: control characters would make it unfit to be published. */
export function showControls(text: string): string {
  return CONTROL.test(text) ? text.replace(CONTROL, showControl) : text
}

function showControl(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
}
