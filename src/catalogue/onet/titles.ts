import { increment } from '../../foundation/increment.ts'
import { MAX_ALT_TITLES } from '../records/schema.ts'

/** `Operators`, `Hostesses`; not `Infantry`, `Police`, `Boss`, `Campus`, `Analysis`. */
const PLURAL_WORD = /[^ius]s$/i

/**
 * Whether an O*NET title is a plural, judging by its head noun: the last word before the first comma, `--` or `of`
 * (`Managers, All Other`, `Helpers--Roofers`, `First-Line Supervisors of Correctional Officers`). After a list of
 * modifiers, the head follows `and`: `Meat, Poultry, and Fish Cutters and Trimmers`. Phrases with `Except` or
 * `Including` are not part of the head.
 *
 * Of the 1,016 titles of O*NET 27.0, all are plurals except three collective nouns: `Clergy`, `Infantry` and `Transit
 * and Railroad Police`. If the rule cannot decide, it returns false.
 */
export function isPlural(title: string): boolean {
  const parts = title.split(/,|--/).map((part) => part.trim())
  const [first = '', ...rest] = parts.filter((part) => !/^(?:except|including)\b/i.test(part))
  const list = rest.find((part) => /\band\b/i.test(part))
  return [first, ...(list === undefined ? [] : [list])].some((part) => PLURAL_WORD.test(beforeOf(part)))
}

function beforeOf(phrase: string): string {
  return phrase.split(/ of /i, 1)[0] ?? ''
}

export interface AlternateTitle {
  readonly title: string
  /** The abbreviation that O*NET gives, such as `CNA`. */
  readonly short?: string
  /** The number of sources that O*NET lists for it. */
  readonly sources: number
}

/** A title with an abbreviation, such as `Chief Operating Officer (COO)`. */
const ABBREVIATED = /^(.*\S) \(([A-Z][A-Za-z&/-]*[A-Z])\)$/

/** The title, its two forms if it has an abbreviation in brackets, and O*NET's short title. */
export function listForms({ title, short }: AlternateTitle): string[] {
  const [, full, abbreviation] = ABBREVIATED.exec(title) ?? []
  return [title, full, abbreviation, short].filter((form) => form !== undefined)
}

/** An occupation's texts, against which its alternate titles are ranked. */
export interface TitledOccupation {
  readonly title: string
  readonly description: string
  readonly alternates: readonly AlternateTitle[]
}

/**
 * Finds O*NET's own singular of a title: the alternate title that differs only in the number of its head noun and in
 * case. `Civil Engineer` is the singular of `Civil Engineers`; none is invented.
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

/** Possible singulars of a plural by its spelling; a candidate counts only if O*NET uses it. */
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
 * Creates a function that picks the seven best alternate titles of an occupation, best first. They are ordered by:
 *
 * 1. the number of sources plus the number of words shared with the occupation's title, highest first, because most
 *    alternates of some occupations have only one source;
 * 2. titles without a bracketed abbreviation before those with one;
 * 3. the number of words shared with the title, then with the description, highest first;
 * 4. the number of other occupations with the same alternate, lowest first;
 * 5. length, shortest first;
 * 6. the alphabet.
 *
 * The title itself, its singular and duplicates in another case are excluded.
 *
 * @param occupations all occupations of the release
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

/** The number of occupations with each alternate title. */
function countOccupations(occupations: Iterable<TitledOccupation>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { alternates } of occupations) {
    for (const title of new Set(alternates.map((alternate) => alternate.title.toLowerCase()))) {
      increment(counts, title)
    }
  }
  return counts
}

/** Words that do not distinguish occupations. */
const STOP_WORDS = new Set('a all and at by except for in including of on or other the to with'.split(' '))

/** The words of a text, in the singular as far as their spelling reveals it. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return new Set(
    words.filter((word) => !STOP_WORDS.has(word)).map((word) => singularsOf(word).at(-1) ?? word),
  )
}

/** Independent of the locale: the same order on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
