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

/**
 * The seven best of an occupation's alternate titles, the best first: those that more sources confirm, then
 * those without a bracketed abbreviation, then the shorter, then by the alphabet. None is the title itself,
 * and none comes twice, whatever its case.
 */
export function pickAlternateTitles(title: string, alternates: readonly AlternateTitle[]): string[] {
  const picked = new Map<string, string>()
  for (const alternate of alternates.toSorted(compareAlternates)) {
    const key = alternate.title.toLowerCase()
    if (key === '' || key === title.toLowerCase() || picked.has(key)) continue
    picked.set(key, alternate.title)
    if (picked.size === MAX_ALT_TITLES) break
  }
  return [...picked.values()]
}

function compareAlternates(a: AlternateTitle, b: AlternateTitle): number {
  return (
    b.sources - a.sources ||
    Number(a.title.includes('(')) - Number(b.title.includes('(')) ||
    a.title.length - b.title.length ||
    compareText(a.title.toLowerCase(), b.title.toLowerCase()) ||
    compareText(a.title, b.title)
  )
}

/** Without a locale: the same order on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
