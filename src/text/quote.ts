/** Characters that a terminal interprets: C0 and C1 controls, line separators, and changes of text direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Makes text safe to print in a terminal or a log: control characters become `\u009b` and so on. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Quotes the start of a value for a message: enough to recognise it. */
export function quote(value: string, length = 60): string {
  if (value.length <= length) return escapeControls(JSON.stringify(value))
  const start = value.slice(0, length)
  return escapeControls(JSON.stringify(`${start.isWellFormed() ? start : start.slice(0, -1)}…`))
}
