/**
 * The text without the characters at its end that are to be dropped. A regular expression such as `/0+$/` takes a time
 * that grows with the square of a run that does not end the text, because it looks for the end from each place of it.
 */
export function dropEnd(text: string, isDropped: (character: string) => boolean): string {
  let end = text.length
  while (end > 0 && isDropped(text.charAt(end - 1))) end--
  return text.slice(0, end)
}
