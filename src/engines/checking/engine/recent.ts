/** The slots of a table of recent texts. A text replaces the previous one in its slot. */
export const SLOTS = 4096

/** V8 keeps the whole block in memory while a longer part of it is referenced. */
const MOST_CHARACTERS = 12

/** The slot of a text by its last characters, in which codes, dates and amounts differ; -1 if it is too long. */
export function slotOf(text: string): number {
  const { length } = text
  if (length > MOST_CHARACTERS) return -1
  let hash = length
  for (let at = length > 6 ? length - 6 : 0; at < length; at++)
    hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  return (hash ^ (hash >>> 9)) & (SLOTS - 1)
}
