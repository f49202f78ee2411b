/**
 * Characters that a terminal interprets, or that nobody sees: controls, format characters such as spaces of no width
 * and changes of text direction, line separators, and the fillers of Hangul.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu

/** Makes text safe to print in a terminal or a log: such characters become `\u009b` and so on. */
export function escapeControls(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** Quotes the start of a value for a message: enough to recognise it. */
export function quote(value: string, length = 60): string {
  if (value.length <= length) return escapeControls(JSON.stringify(value))
  const start = value.slice(0, length)
  return escapeControls(JSON.stringify(`${start.isWellFormed() ? start : start.slice(0, -1)}…`))
}

/** Writes an argument of a command as a shell needs it. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
