const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it may be in XML and HTML, also in attributes; characters that XML does not allow are replaced. */
export function escapeText(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no place for them.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
  )
}
