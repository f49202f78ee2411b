import { lookUp } from '../look-up.ts'

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

const NAMES = lookUp<string>({
  '00a0': 'no-break space',
  '00ad': 'soft hyphen',
  '200b': 'zero-width space',
  '200c': 'zero-width non-joiner',
  '200d': 'zero-width joiner',
  '200e': 'left-to-right mark',
  '200f': 'right-to-left mark',
  '202f': 'narrow no-break space',
  '2060': 'word joiner',
  feff: 'byte order mark',
})

/** Names the characters of a text that nobody sees as they are, such as `U+200B (zero-width space)`; empty if there are none. */
export function describeUnseen(text: string): string {
  const found = new Set(text.match(/[\p{Cc}\p{Cf}\u00a0\u202f]/gu))
  return [...found]
    .slice(0, 3)
    .map((character) => {
      const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
      return `U+${code.toUpperCase()}${NAMES[code] === undefined ? '' : ` (${NAMES[code]})`}`
    })
    .join(' and ')
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
