/** Words that say nothing of an occupation, in English and te reo Māori. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  'and of the a an in for to or with all other except te nga o he i ki'.split(' '),
)

/** A folded word as a singular, by the regular English plurals: `nurse` for `nurses`, `party` for `parties`. */
export function singular(word: string): string {
  if (!word.endsWith('s')) return word
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 3 && !word.endsWith('ss') && !word.endsWith('us')) return word.slice(0, -1)
  return word
}

/** The longest first, for the first that fits is removed. */
const SUFFIXES =
  'ization isation ations ation ments ments ment ings ing ists ist ians ian ors or ers er ion men man ed al ic ive y e s'
    .split(' ')
    .sort((a, b) => b.length - a.length)

/**
 * What a word shares with its derivations: `weav` for `weaver` and `weaving`. It need not be a word; it only has to be
 * the same for most of a family, and one more feature beside the word itself.
 */
export function stem(word: string): string {
  if (word.length < 5) return word
  const suffix = SUFFIXES.find((each) => word.length - each.length >= 3 && word.endsWith(each))
  const root = suffix === undefined ? word : word.slice(0, -suffix.length)
  return root.length > 3 && root.at(-1) === root.at(-2) ? root.slice(0, -1) : root
}
