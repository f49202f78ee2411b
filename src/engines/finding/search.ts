import { Bonuses, preferExact } from './bonuses.ts'
import { calibrate } from './calibration.ts'
import type { Language, NameField } from './document.ts'
import { type ExpandedWord, Expander, type Expansion } from './expansion.ts'
import { Familiarity } from './familiarity.ts'
import { fold, splitWords, type Word } from './fold.ts'
import {
  type GroupName,
  type IndexData,
  isAsciiText,
  readKind,
  readText,
  readTexts,
  titlesOf,
} from './index-data.ts'
import { EXACT, findExact, Matcher, NameMemory } from './match.ts'
import { FAR, findBest, RANKED, Scorer, takeBest } from './score.ts'
import { isModifier, STOP_WORDS, singular } from './stem.ts'
import { Vocabulary } from './vocabulary.ts'

/** The longest query that is read, in UTF-16 code units and in words; the rest is ignored. */
const MAX_LENGTH = 300
const MAX_WORDS = 24
const MAX_TASK_LENGTH = 4000
const MAX_TASK_WORDS = 200

export interface SearchRequest {
  readonly query: string
  readonly language?: Language | undefined
  readonly majorGroup?: string | undefined
  readonly minorGroup?: string | undefined
  readonly primaryOnly?: boolean
  readonly offset?: number
  readonly limit: number
}

export interface SearchResult {
  readonly occupationCode: string
  readonly titleEnglish?: string
  readonly titleMaori?: string
  readonly matchedName: string
  readonly matchedLanguage: Language
  readonly matchedField: NameField
  readonly highlights: readonly [number, number][]
  /** From 0 to 1. Exact names come first, then results by descending score. */
  readonly score: number
  readonly group?: GroupName
}

export interface SearchAnswer {
  readonly query: string
  readonly didYouMean?: string
  readonly totalCount: number
  readonly results: readonly SearchResult[]
  readonly groups: readonly (GroupName & { readonly count: number })[]
}

export interface Suggestion {
  readonly text: string
  readonly occupationCode: string
  readonly titleEnglish?: string
  readonly language: Language
  readonly highlights: readonly [number, number][]
}

/** A query with its possible expansions and the probability of each occupation. */
interface Understood {
  readonly words: readonly Word[]
  readonly expansions: readonly Expansion[]
  readonly probability: Float64Array
  readonly matcher: Matcher
  /** The occupations with the query as a name, and the quality of the match. */
  readonly exact: ReadonlyMap<number, number>
  /** The same for the query without words that only qualify it; empty if it has none. */
  readonly core: ReadonlyMap<number, number>
}

/** What a title means. */
export interface Estimate {
  readonly probability: Float64Array
  /** The certainty that the title means an occupation. */
  readonly certainty: (occupation: number) => number
  /** A number by which occupations have the order of their certainty, and which takes less time. */
  readonly order: (occupation: number) => number
  /** Whether the title is a name, apart from spaces and plurals. */
  readonly isName: boolean
  /** Whether the catalogue has a word of the title that says what somebody does. */
  readonly known: boolean
}

/** Searches an index. Its methods are synchronous and take about a millisecond at the size of O*NET. */
export class OccupationSearch {
  readonly index: IndexData
  readonly #vocabulary: Vocabulary
  readonly #scorer: Scorer
  readonly #expander: Expander
  readonly #names: NameMemory
  readonly #bonuses: Bonuses
  readonly #familiarity: Familiarity
  /** The names with letters beyond ASCII, listed at the first query that has one. */
  #beyondAscii: readonly number[] | undefined

  constructor(index: IndexData) {
    this.index = index
    this.#vocabulary = new Vocabulary(readTexts(index.words), index.wordCount)
    this.#scorer = new Scorer(index, this.#vocabulary)
    this.#names = new NameMemory(index, this.#vocabulary, this.#scorer)
    this.#bonuses = new Bonuses(index)
    this.#familiarity = new Familiarity(index, this.#vocabulary, this.#scorer)
    this.#expander = new Expander(this.#vocabulary, this.#scorer, index.header.synonyms)
  }

  search(request: SearchRequest): SearchAnswer {
    const { query, language, offset = 0, limit } = request
    const understood = this.#understand(query, { open: !/[\s\p{P}]$/u.test(query), language })
    const { matcher, exact } = understood
    const matches = this.#listMatches(understood).filter((occupation) => this.#isWanted(occupation, request))
    const { certainty, order } = this.#judge(understood)
    // A typed macron is meant; without one, macrons do not matter.
    const marked = this.#findMarked(query, language)
    const rank = new Float64Array(this.index.header.occupations)
    for (const occupation of matches) {
      const equality = exact.get(occupation) ?? 0
      // Occupations of the same title are equals.
      const likely = equality === EXACT.title ? 0 : order(occupation)
      rank[occupation] = likely + 2 * equality + (marked.has(occupation) ? 1 : 0)
    }
    const didYouMean = exact.size > 0 ? undefined : this.#findSpelling(query, understood)
    return {
      query,
      ...(didYouMean !== undefined && { didYouMean }),
      totalCount: matches.length,
      results: takeBest(matches, rank, offset + limit)
        .slice(offset)
        .flatMap((occupation) => this.#describe(occupation, matcher, certainty(occupation), language)),
      groups: this.#countGroups(matches),
    }
  }

  /** Names that complete the typed text, at most one for each occupation. */
  suggest(request: { query: string; language?: Language | undefined; limit: number }): Suggestion[] {
    const { query, language, limit } = request
    const understood = this.#understand(query, { open: true, language })
    const typed = fold(query.slice(0, MAX_LENGTH))
    if (typed === '') return []
    const { probability, matcher, exact } = understood
    const wanted = this.#listMatches(understood).filter((occupation) =>
      this.#isWanted(occupation, { language }),
    )
    const marked = this.#findMarked(query, language)
    const rank = probability.slice()
    for (const occupation of marked) rank[occupation] = (rank[occupation] as number) + 1
    const matches = takeBest(wanted, rank, limit * 4)
    const found: (Suggestion & { score: number })[] = []
    for (const occupation of matches) {
      const best = this.#chooseSuggestion(occupation, matcher, typed, language)
      if (best === undefined) continue
      const fits = marked.has(occupation) ? MARKED : 0
      const score = (probability[occupation] as number) * best.score + (exact.get(occupation) ?? 0) + fits
      found.push({ ...best.suggestion, score })
    }
    const seen = new Set<string>()
    return found
      .sort((a, b) => b.score - a.score || (a.occupationCode < b.occupationCode ? -1 : 1))
      .filter(({ text }) => !seen.has(fold(text)) && seen.add(fold(text)))
      .slice(0, limit)
      .map(({ score: _, ...suggestion }) => suggestion)
  }

  /** What a title with optional tasks means. */
  estimate(title: string, tasks = ''): Estimate {
    const understood = this.#understand(title, { open: false, tasks })
    const { expansions, exact } = understood
    const known = exact.size > 0 || expansions.some(({ words }) => words.some((word) => this.#saysWhat(word)))
    const isName = exact.values().some((equality) => equality >= EXACT.name)
    return { ...this.#judge(understood), isName, known }
  }

  /**
   * The probability of each occupation, if names count that equal the query; and the certainty, which is less beside
   * words that the catalogue does not have: they may mean an occupation that it does not have.
   */
  #judge({ words, expansions, probability, exact, core }: Understood): Omit<Estimate, 'isName' | 'known'> {
    const likely = preferExact(probability.slice(), exact, core)
    const familiar = this.#familiarity.judge(words, expansions)
    const certainty = (occupation: number) =>
      calibrate(likely[occupation] as number) * (exact.has(occupation) ? 1 : (familiar?.(occupation) ?? 1))
    const order = familiar === undefined ? (occupation: number) => likely[occupation] as number : certainty
    return { probability: likely, certainty, order }
  }

  #saysWhat({ term, change }: ExpandedWord): boolean {
    return change !== 'omitted' && !STOP_WORDS.has(term) && !isModifier(term) && this.#vocabulary.has(term)
  }

  code(occupation: number): string {
    return readText(this.index.codes, occupation)
  }

  title(occupation: number, language: Language): string | undefined {
    const { nameKind, names } = this.index
    for (const name of titlesOf(this.index, occupation))
      if (readKind(nameKind[name] as number).language === language) return readText(names, name)
    return undefined
  }

  #understand(
    query: string,
    { open, tasks = '', language }: { open: boolean; tasks?: string; language?: Language | undefined },
  ): Understood {
    const words = splitWords(query.slice(0, MAX_LENGTH), MAX_WORDS)
    const expansions = words.length === 0 ? [] : this.#expander.expand(words, open)
    const context = splitWords(tasks.slice(0, MAX_TASK_LENGTH), MAX_TASK_WORDS).map(({ word }) =>
      singular(word),
    )
    const probability = new Float64Array(this.index.header.occupations)
    const last = words.at(-1)
    const read = last === undefined ? '' : query.slice(0, last.to)
    for (const expansion of expansions) {
      const terms = expansion.words.flatMap(({ term, change }) => (change === 'omitted' ? [] : [term]))
      const text = expansion.words.every(({ change }) => change === 'typed') ? read : terms.join(' ')
      addProbability(this.#scorer.score(text, terms, context), expansion.weight, probability)
    }
    const typed = words.map(({ word }) => word)
    const matcher = new Matcher(this.index, this.#vocabulary, this.#scorer, expansions, typed, this.#names)
    this.#bonuses.preferSimilar(words, matcher, probability)
    const exact = findExact(this.index, query.slice(0, MAX_LENGTH), language)
    const core = findExact(this.index, this.#omitModifiers(words, expansions), language)
    return { words, expansions, probability, matcher, exact, core }
  }

  /** The query without words that only qualify it, or nothing if it has none. */
  #omitModifiers(words: readonly Word[], [expansion]: readonly Expansion[]): string {
    const omitted = expansion?.words.flatMap(({ change, from }) => (change === 'omitted' ? [from] : [])) ?? []
    if (omitted.length === 0) return ''
    return words.flatMap(({ word }, at) => (omitted.includes(at) ? [] : [word])).join(' ')
  }

  /**
   * The occupations that the query may mean: those with it as a name, those with a word of it that are not much less
   * likely than the best, and likely ones. Without any word of the catalogue, only similar ones.
   */
  #listMatches({ expansions, probability, exact }: Understood): number[] {
    const { texts } = this.index
    const found = new Uint8Array(probability.length)
    let known = exact.size > 0
    for (const { words, weight } of expansions) {
      if (weight < 0.02) continue
      for (const { term, change } of words) {
        const word = change === 'omitted' || STOP_WORDS.has(term) ? -1 : this.#vocabulary.find(term)
        if (word < 0) continue
        known = true
        for (let p = texts.start[word] as number; p < (texts.start[word + 1] as number); p++) {
          found[texts.column[p] as number] = 1
        }
      }
    }
    const similar = !known && expansions.some(({ words }) => words.some(({ term }) => term.length > 3))
    const matches: number[] = []
    // In a catalogue of a few occupations, each has a probability that means something in a large one.
    const likeSimilar = Math.max(SIMILAR, SIMILAR_TIMES / probability.length)
    const least = known ? LIKELY / probability.length : similar ? likeSimilar : Number.POSITIVE_INFINITY
    const unlikely = UNLIKELY * findBest(probability)
    // In a large catalogue, only the best are ranked.
    const all = probability.length <= RANKED
    for (let occupation = 0; occupation < probability.length; occupation++) {
      const each = probability[occupation] as number
      const mayMean = found[occupation] === 1 && (each > unlikely || (each === 0 && !all))
      if (mayMean || each > least || exact.has(occupation)) matches.push(occupation)
    }
    return matches
  }

  #isWanted(occupation: number, request: Omit<SearchRequest, 'query' | 'limit'>): boolean {
    const { majorStart, major, minorStart, minor, header } = this.index
    const { majorGroup, minorGroup, primaryOnly = false, language } = request
    const has = (code: string, start: Uint32Array, groups: Uint32Array, names: readonly GroupName[]) => {
      for (let at = start[occupation] as number; at < (start[occupation + 1] as number); at++) {
        const group = groups[at] as number
        if (names[group >> 1]?.code === code && (!primaryOnly || group % 2 === 1)) return true
      }
      return false
    }
    if (majorGroup !== undefined && !has(majorGroup, majorStart, major, header.majorGroups)) return false
    if (minorGroup !== undefined && !has(minorGroup, minorStart, minor, header.minorGroups)) return false
    return language === undefined || this.#hasLanguage(occupation, language)
  }

  #hasLanguage(occupation: number, language: Language): boolean {
    const { occupationNames, nameKind } = this.index
    const end = occupationNames[occupation + 1] as number
    for (let name = occupationNames[occupation] as number; name < end; name++) {
      if (readKind(nameKind[name] as number).language === language) return true
    }
    return false
  }

  #describe(
    occupation: number,
    matcher: Matcher,
    score: number,
    language: Language | undefined,
  ): SearchResult[] {
    const match = matcher.choose(occupation, { language })
    if (match === undefined) return []
    const [titleEnglish, titleMaori] = [this.title(occupation, 'en'), this.title(occupation, 'mi')]
    const group = this.primaryGroup(occupation)
    return [
      {
        occupationCode: this.code(occupation),
        ...(titleEnglish !== undefined && { titleEnglish }),
        ...(titleMaori !== undefined && { titleMaori }),
        matchedName: match.text,
        matchedLanguage: match.language,
        matchedField: match.field,
        highlights: match.highlights,
        score: Math.round(score * 1e4) / 1e4,
        ...(group !== undefined && { group }),
      },
    ]
  }

  primaryGroup(occupation: number): GroupName | undefined {
    const { majorStart, major, header } = this.index
    const group = major[majorStart[occupation] as number]
    const empty = majorStart[occupation] === majorStart[occupation + 1]
    return empty || group === undefined ? undefined : header.majorGroups[group >> 1]
  }

  #countGroups(matches: readonly number[]): (GroupName & { count: number })[] {
    const { majorStart, major, header } = this.index
    const counts = new Uint32Array(header.majorGroups.length)
    for (const occupation of matches) {
      for (let at = majorStart[occupation] as number; at < (majorStart[occupation + 1] as number); at++) {
        const group = (major[at] as number) >> 1
        counts[group] = (counts[group] as number) + 1
      }
    }
    return header.majorGroups
      .map((group, at) => ({ ...group, count: counts[at] as number }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))
  }

  #findSpelling(query: string, { words, expansions }: Understood): string | undefined {
    const [best] = expansions
    const changed = best?.words.some(({ change }) => CORRECTIONS.has(change)) ?? false
    if (best === undefined || !changed || best.weight < 0.4) return undefined
    if (!this.#isPlausible(best)) return undefined
    const parts: string[] = []
    let last = -1
    for (const { term, change, from, to } of best.words) {
      if (CORRECTIONS.has(change)) parts.push(this.#spell(term))
      else if (from !== last) parts.push(query.slice(words[from]?.from, words[to - 1]?.to))
      last = from
    }
    return parts.join(' ')
  }

  /** A short word is one slip from many others: one that it may stand for must go with the other words somewhere. */
  #isPlausible({ words }: Expansion): boolean {
    const short = words.some(({ term, change }) => change === 'corrected' && term.length < SHORT)
    const known = words.flatMap(({ term, change }) => {
      const word = change === 'omitted' || STOP_WORDS.has(term) ? -1 : this.#vocabulary.find(term)
      return word < 0 ? [] : [word]
    })
    if (!short || known.length < 2) return true
    const { start, column } = this.index.texts
    const [first, ...others] = known.map((word) => column.subarray(start[word], start[word + 1]))
    return first?.some((occupation) => others.every((list) => list.includes(occupation))) ?? true
  }

  #spell(term: string): string {
    const word = this.#vocabulary.find(term)
    return word < 0 ? term : readText(this.index.spellings, word)
  }

  #chooseSuggestion(occupation: number, matcher: Matcher, typed: string, language: Language | undefined) {
    const { occupationNames, nameKind, names } = this.index
    let best: { name: number; language: Language; score: number } | undefined
    const end = occupationNames[occupation + 1] as number
    for (let name = occupationNames[occupation] as number; name < end; name++) {
      const kind = readKind(nameKind[name] as number)
      if (kind.field === 'searchOnly') break
      if (kind.field === 'pluralTitle') continue
      if (language !== undefined && kind.language !== language) continue
      const begins = this.#begins(name, typed)
      const score = matcher.compare(name) + (begins ? 2 : 0) + (kind.field === 'title' ? 0.1 : 0)
      if (score <= 0.1 || (best !== undefined && score <= best.score)) continue
      best = { name, language: kind.language, score }
    }
    if (best === undefined) return undefined
    const text = readText(names, best.name)
    const titleEnglish = this.title(occupation, 'en')
    const suggestion: Suggestion = {
      text,
      occupationCode: this.code(occupation),
      ...(titleEnglish !== undefined && { titleEnglish }),
      language: best.language,
      highlights: matcher.highlight(best.name, text),
    }
    return { suggestion, score: best.score }
  }

  /** Whether a name begins with the typed text, by its first word where that decides: folding a name takes longer. */
  #begins(name: number, typed: string): boolean {
    const { names, nameWordStart, nameWord } = this.index
    const first = nameWordStart[name] as number
    const empty = first === nameWordStart[name + 1]
    const sure = empty ? undefined : this.#vocabulary.mayBegin(nameWord[first] as number, typed)
    return sure ?? fold(readText(names, name)).startsWith(typed)
  }

  /** The occupations with a name that has every typed word with a macron or another mark as it was typed. */
  #findMarked(query: string, language: Language | undefined): ReadonlySet<number> {
    const written = (text: string) =>
      text
        .normalize('NFC')
        .toLowerCase()
        .split(/[^\p{L}\p{N}\p{M}]+/u)
    const wanted = written(query.slice(0, MAX_LENGTH)).filter((word) => !/^[\0-\x7f]*$/.test(word))
    const found = new Set<number>()
    if (wanted.length === 0) return found
    const { nameKind, names } = this.index
    this.#beyondAscii ??= [...nameKind.keys()].filter((name) => !isAsciiText(names, name))
    for (const name of this.#beyondAscii) {
      if (language !== undefined && readKind(nameKind[name] as number).language !== language) continue
      const words = written(readText(names, name))
      if (wanted.every((word) => words.some((each) => each.startsWith(word))))
        found.add(this.#names.owners[name] as number)
    }
    return found
  }
}

/** More than an exact name without its macrons adds to the score of a suggestion. */
const MARKED = 8
/** The minimum probability of an occupation that is only similar to the query, and how many times the average it must be. */
const SIMILAR = 0.05
const SIMILAR_TIMES = 2
/** How many times more probable than average an occupation without any of the words must be. */
const LIKELY = 1
/** Occupations whose share of the probability of the best one is smaller are not results. */
const UNLIKELY = 3e-4
/** Corrections with fewer letters need the other words as evidence. */
const SHORT = 7
const CORRECTIONS: ReadonlySet<string> = new Set(['corrected', 'joined', 'split'])

/** Adds the weighted softmax of logits, which are overwritten. */
function addProbability(logits: Float32Array, weight: number, probability: Float64Array): void {
  const best = findBest(logits)
  let total = 0
  for (let at = 0; at < logits.length; at++) {
    const below = (logits[at] as number) - best
    const part = below > -FAR ? Math.exp(below) : 0
    logits[at] = part
    total += part
  }
  const share = weight / total
  for (let at = 0; at < logits.length; at++) {
    const part = logits[at] as number
    if (part > 0) probability[at] = (probability[at] as number) + share * part
  }
}
