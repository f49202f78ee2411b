/** Characters that show text otherwise than it is: controls, halves of characters, and those that turn its direction. */
const HIDDEN = /(?![\n\t]|\r\n)[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/u

/** Reads a text that people see: in Unicode NFC, without spaces at its ends; `undefined` if there is none. */
export function readLine(text = ''): string | undefined {
  return text.replaceAll('\r\n', '\n').normalize('NFC').trim() || undefined
}

/** What is wrong with a text that has characters which show it otherwise than it is. */
export function findHidden(text = ''): string | undefined {
  return HIDDEN.test(text)
    ? 'must not contain control characters, or characters that change the direction of text'
    : undefined
}
