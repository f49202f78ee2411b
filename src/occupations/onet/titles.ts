import { MAX_ALT_TITLES } from '../schema.ts'

/** `Operators`, `Hostesses`; not `Infantry`, `Police`, `Boss`, `Campus`, `Analysis`. */
const PLURAL_WORD = /[^ius]s$/i

/**
 * Whether an O*NET title is a plural, by its head noun: the last word before the first comma, `--` or `of`
 * (`Managers, All Other`, `Helpers--Roofers`, `First-Line Supervisors of Correctional Officers`). Where a
 * list of modifiers comes first, the head follows its `and`: `Meat, Poultry, and Fish Cutters and Trimmers`.
 * What `Except` or `Including` bring in is no part of the head.
 *
 * Of the 1,016 titles of O*NET 27.0 all are plurals but three collective nouns: `Clergy`, `Infantry` and
 * `Transit and Railroad Police`. Where the rule cannot tell, it says no.
 */
export function isPlural(title: string): boolean {
  const parts = title.split(/,|--/).map((part) => part.trim())
  const [first = '', ...rest] = parts.filter((part) => !/^(?:except|including)\b/i.test(part))
  const list = rest.find((part) => /\band\b/i.test(part))
  return [first, ...(list === undefined ? [] : [list])].some((part) => PLURAL_WORD.test(beforeOf(part)))
}

function beforeOf(phrase: string): string {
  return phrase.replace(/ of .*$/i, '')
}

export interface AlternateTitle {
  readonly title: string
  /** How many sources O*NET names for it. */
  readonly sources: number
}

/** An occupation's own words, by which its alternate titles are judged. */
export interface TitledOccupation {
  readonly title: string
  readonly description: string
  readonly alternates: readonly AlternateTitle[]
}

/**
 * O*NET's own singular of a title: the alternate title that differs from it by the number of its head noun and by
 * nothing but case otherwise. `Civil Engineer` is one for `Civil Engineers`; none is made up.
 */
export function findSingular({ title, alternates }: TitledOccupation): string | undefined {
  return alternates
    .map((alternate) => alternate.title)
    .filter((alternate) => isSingularOf(alternate, title))
    .toSorted(compareText)
    .at(-1)
}

function isSingularOf(alternate: string, title: string): boolean {
  const [words, others] = [title, alternate].map((text) => text.toLowerCase().split(/([^\p{L}\p{N}]+)/u))
  if (words === undefined || others === undefined || words.length !== others.length) return false
  const head = beforeOf(title.toLowerCase()).split(/([^\p{L}\p{N}]+)/u).length - 1
  const word = words[head] ?? ''
  return words.every((each, index) =>
    index === head ? singularsOf(word).includes(others[index] ?? '') : each === others[index],
  )
}

/** What the singular of a plural may be, as it is spelled; O*NET's own words decide. */
function singularsOf(word: string): string[] {
  if (word.endsWith('men')) return [`${word.slice(0, -3)}man`]
  if (!PLURAL_WORD.test(word)) return []
  const found = [word.slice(0, -1)]
  if (word.endsWith('ies')) found.push(`${word.slice(0, -3)}y`)
  if (word.endsWith('ives')) found.push(`${word.slice(0, -3)}fe`)
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) found.push(word.slice(0, -2))
  return found
}

/**
 * Makes a function that picks the seven best of an occupation's alternate titles, the best first:
 *
 * 1. by the number of sources that confirm it plus the number of words that it shares with the occupation's title,
 *    the highest first: most of some occupations' alternates have one source alone;
 * 2. those without a bracketed abbreviation;
 * 3. those that share more words with the title, then with the description;
 * 4. those that fewer other occupations have too;
 * 5. the shorter;
 * 6. by the alphabet.
 *
 * None is the title itself or its singular, and none comes twice, whatever its case.
 *
 * @param occupations all of the release
 */
export function alternatePicker(
  occupations: Iterable<TitledOccupation>,
): (occupation: TitledOccupation, singular?: string) => string[] {
  const shared = countOccupations(occupations)
  return ({ title, description, alternates }, singular = title) => {
    const [own, described] = [wordsOf(title), wordsOf(description)]
    const ranked = alternates.map((alternate) => {
      const words = [...wordsOf(alternate.title)]
      return {
        ...alternate,
        key: alternate.title.toLowerCase(),
        ownWords: words.filter((word) => own.has(word)).length,
        describedWords: words.filter((word) => described.has(word)).length,
        occupations: shared.get(alternate.title.toLowerCase()) ?? 0,
      }
    })
    const picked = new Map([title, singular, ''].map((text) => [text.toLowerCase(), '']))
    const best: string[] = []
    for (const { key, title: text } of ranked.sort(compareRanked)) {
      if (picked.has(key)) continue
      picked.set(key, text)
      best.push(text)
      if (best.length === MAX_ALT_TITLES) break
    }
    return best
  }
}

interface RankedTitle extends AlternateTitle {
  readonly ownWords: number
  readonly describedWords: number
  readonly occupations: number
}

function compareRanked(a: RankedTitle, b: RankedTitle): number {
  return (
    b.sources + b.ownWords - (a.sources + a.ownWords) ||
    Number(a.title.includes('(')) - Number(b.title.includes('(')) ||
    b.ownWords - a.ownWords ||
    b.describedWords - a.describedWords ||
    a.occupations - b.occupations ||
    a.title.length - b.title.length ||
    compareText(a.title.toLowerCase(), b.title.toLowerCase()) ||
    compareText(a.title, b.title)
  )
}

/** How many occupations have each alternate title. */
function countOccupations(occupations: Iterable<TitledOccupation>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { alternates } of occupations) {
    for (const title of new Set(alternates.map((alternate) => alternate.title.toLowerCase()))) {
      counts.set(title, (counts.get(title) ?? 0) + 1)
    }
  }
  return counts
}

/** Words of titles that say nothing about an occupation. */
const STOP_WORDS = new Set('a all and at by except for in including of on or other the to with'.split(' '))

/** The words of a text, in the singular as far as their spelling shows it. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return new Set(
    words.filter((word) => !STOP_WORDS.has(word)).map((word) => singularsOf(word).at(-1) ?? word),
  )
}

/** Without a locale: the same order on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
