/** Words that do not distinguish occupations, in English and te reo Māori. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  'and of the a an in for to or with all other except te nga o he i ki'.split(' '),
)

/**
 * Phrases that say for whom, when or at which rank somebody works, and not what they do. They keep the order of their
 * words; the longest come first.
 */
const MODIFIERS: readonly (readonly string[])[] = [
  'full time',
  'part time',
  'night shift',
  'day shift',
  'evening shift',
  'weekend shift',
  'fixed term',
  'entry level',
  'mid level',
  ...'senior sr junior jr lead principal ii iii iv trainee casual temporary permanent fulltime parttime remote'.split(
    ' ',
  ),
].map((phrase) => phrase.split(' '))

/** The number of words of the modifier at a place in a query; 0 if there is none, or if nothing else remains. */
export function findModifier(terms: readonly string[], at: number): number {
  const length = matchModifier(terms, at)
  if (length === 0) return 0
  for (let other = 0; other < terms.length; other += matchModifier(terms, other) || 1) {
    if (matchModifier(terms, other) === 0 && !STOP_WORDS.has(terms[other] as string)) return length
  }
  return 0
}

/** Whether a word alone is a modifier. */
export function isModifier(term: string): boolean {
  return matchModifier([term], 0) === 1
}

function matchModifier(terms: readonly string[], at: number): number {
  return MODIFIERS.find((phrase) => phrase.every((word, offset) => terms[at + offset] === word))?.length ?? 0
}

/** Plurals that the rules below do not know. All but the last letter of a singular begins its plural. */
const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ['buses', 'bus'],
  ['gases', 'gas'],
  ['lenses', 'lens'],
  ['viruses', 'virus'],
  ['children', 'child'],
])

/** The singular of a folded word by the English plurals: `nurse` for `nurses`, `party` for `parties`. */
export function singular(word: string): string {
  const irregular = IRREGULAR.get(word)
  if (irregular !== undefined) return irregular
  if (!word.endsWith('s')) return word
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/.(?:ss|x|ch|sh|zz)es$/.test(word)) return word.slice(0, -2)
  if (word.length > 3 && !word.endsWith('ss') && !word.endsWith('us')) return word.slice(0, -1)
  return word
}

/** Longest first, because the first match is removed. */
const SUFFIXES =
  'ization isation ations ation ments ments ment ings ing ists ist ians ian ors or ers er ion men man ed al ic ive y e s'
    .split(' ')
    .sort((a, b) => b.length - a.length)

/**
 * The stem that a word shares with its derivations: `weav` for `weaver` and `weaving`, `bake` for `baker`. It need not
 * be a word; it only has to be the same for most derivations. A word begins with its stem, but for a last `e`.
 */
export function stem(word: string): string {
  if (word.length < 5) return withoutDouble(word)
  const suffix = SUFFIXES.find((each) => word.length - each.length >= 3 && word.endsWith(each))
  const root = suffix === undefined ? word : word.slice(0, -suffix.length)
  // A short verb that ends in a single consonant had an e: `caring` is about care, and not about a car.
  if (suffix !== undefined && SHORT_VERB.test(root)) return `${root}e`
  return withoutDouble(root)
}

const SHORT_VERB = /^[^aeiou][aeiou][^aeiouwxy]$/

/** `cut` for the `cutt` of `cutting`, and `sel` for `sell`, as for `selling`. */
function withoutDouble(root: string): string {
  return root.length > 3 && root.at(-1) === root.at(-2) ? root.slice(0, -1) : root
}
