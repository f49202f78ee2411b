/** A letter with a mark, such as a macron. */
export const MARKED = /[^\0-\x7f]/

/** Whether a text is another one whose letters with marks became bare or a question mark, or are gone. */
export function hasLostMarks(before: string, after: string): boolean {
  if (before === after) return false
  let at = 0
  let lost = 0
  for (const letter of before) {
    if (after.startsWith(letter, at)) {
      at += letter.length
      continue
    }
    if (!MARKED.test(letter)) return false
    lost++
    const bare = letter.normalize('NFD').replaceAll(/\p{M}/gu, '')
    if (after.startsWith(bare, at)) at += bare.length
    else if (after[at] === '?' || after[at] === '_') at++
  }
  return lost > 0 && at === after.length
}
