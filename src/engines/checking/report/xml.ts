import { lookUp } from '../../../foundation/look-up.ts'

const ESCAPES = lookUp<string>({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
})

/** Escapes text for XML and HTML, including attributes, and replaces characters that XML does not allow. */
export function escapeText(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 does not allow them.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
  )
}
