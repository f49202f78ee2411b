/** Words that do not distinguish occupations, in English and te reo Māori. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  'and of the a an in for to or with all other except te nga o he i ki'.split(' '),
)

/** The singular of a folded word by the regular English plurals: `nurse` for `nurses`, `party` for `parties`. */
export function singular(word: string): string {
  if (!word.endsWith('s')) return word
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 3 && !word.endsWith('ss') && !word.endsWith('us')) return word.slice(0, -1)
  return word
}

/** Longest first, because the first match is removed. */
const SUFFIXES =
  'ization isation ations ation ments ments ment ings ing ists ist ians ian ors or ers er ion men man ed al ic ive y e s'
    .split(' ')
    .sort((a, b) => b.length - a.length)

/**
 * The stem that a word shares with its derivations: `weav` for `weaver` and `weaving`. It need not be a word; it only
 * has to be the same for most derivations, and is one more feature besides the word.
 */
export function stem(word: string): string {
  if (word.length < 5) return word
  const suffix = SUFFIXES.find((each) => word.length - each.length >= 3 && word.endsWith(each))
  const root = suffix === undefined ? word : word.slice(0, -suffix.length)
  return root.length > 3 && root.at(-1) === root.at(-2) ? root.slice(0, -1) : root
}
