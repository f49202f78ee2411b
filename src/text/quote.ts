/** Characters that a terminal obeys instead of showing: C0 and C1 controls, line separators, and changes of direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text for one line of a terminal or a log: characters that would act on it become `\u009b` and so on. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The start of a value that a message repeats: enough to recognise it, never a flood. */
export function quote(value: string, length = 60): string {
  if (value.length <= length) return escapeControls(JSON.stringify(value))
  const start = value.slice(0, length)
  return escapeControls(JSON.stringify(`${start.isWellFormed() ? start : start.slice(0, -1)}…`))
}
