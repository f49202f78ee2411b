/** Characters that show text otherwise than it is: controls, halves of characters, and those that turn its direction. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/u

/**
 * Reads a text that people see: in Unicode NFC, without spaces at its ends; `undefined` if there is none.
 *
 * @param refuse called with what is wrong
 */
export function readLine(text: string | undefined, refuse: (fault: string) => never): string | undefined {
  if (text === undefined) return undefined
  const lines = text.replaceAll('\r\n', '\n')
  if (hidesText(lines))
    refuse('must not contain control characters, or characters that change the direction of text')
  const read = lines.normalize('NFC').trim()
  return read === '' ? undefined : read
}

/** Whether a text of lines has characters that show it otherwise than it is. */
export function hidesText(text: string): boolean {
  return HIDDEN.test(text)
}
