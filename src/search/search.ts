import type { Language, NameField } from './document.ts'
import { fold, splitWords, type Word } from './fold.ts'
import { type GroupName, type IndexData, readKind, readText } from './index-data.ts'
import { findExact, Matcher } from './match.ts'
import { Reader, type Reading } from './readings.ts'
import { FAR, findBest, Scorer } from './score.ts'
import { STOP_WORDS, singular } from './stem.ts'
import { Vocabulary } from './vocabulary.ts'

/** What goes beyond these, in UTF-16 units and in words, is not read. */
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
  /** From 0 to 1; the results are in its order, exact names first. */
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
  readonly language: Language
}

/** A query as it was understood: its readings, and the probability of each occupation. */
interface Understood {
  readonly words: readonly Word[]
  readonly readings: readonly Reading[]
  readonly probability: Float64Array
}

/** Searches an index. Its methods are synchronous and take about a millisecond at the size of O*NET. */
export class OccupationSearch {
  readonly index: IndexData
  readonly #vocabulary: Vocabulary
  readonly #scorer: Scorer
  readonly #reader: Reader

  constructor(index: IndexData) {
    this.index = index
    this.#vocabulary = new Vocabulary(index.vocabulary)
    this.#scorer = new Scorer(index, this.#vocabulary)
    this.#reader = new Reader(this.#vocabulary, this.#scorer, index.header.synonyms)
  }

  search(request: SearchRequest): SearchAnswer {
    const { query, language, offset = 0, limit } = request
    const understood = this.#understand(query, { open: !/[\s\p{P}]$/u.test(query) })
    const exact = findExact(this.index, query.slice(0, MAX_LENGTH), language)
    const matches = this.#listMatches(understood, exact).filter((occupation) =>
      this.#isWanted(occupation, request),
    )
    const { probability } = understood
    const rank = probability.slice()
    for (const [occupation, equality] of exact) rank[occupation] = (rank[occupation] as number) + 2 * equality
    const matcher = this.#match(understood)
    const didYouMean = exact.size > 0 ? undefined : this.#findSpelling(query, understood)
    return {
      query,
      ...(didYouMean !== undefined && { didYouMean }),
      totalCount: matches.length,
      results: takeBest(matches, rank, offset + limit)
        .slice(offset)
        .flatMap((occupation) => this.#describe(occupation, matcher, probability, language)),
      groups: this.#countGroups(matches),
    }
  }

  /** Names that complete what has been typed, at most one for each occupation. */
  suggest(request: { query: string; language?: Language | undefined; limit: number }): Suggestion[] {
    const { query, language, limit } = request
    const understood = this.#understand(query, { open: true })
    const typed = fold(query.slice(0, MAX_LENGTH))
    if (typed === '') return []
    const { probability } = understood
    const exact = findExact(this.index, query.slice(0, MAX_LENGTH), language)
    const wanted = this.#listMatches(understood, exact).filter((occupation) =>
      this.#isWanted(occupation, { language }),
    )
    const matches = takeBest(wanted, probability, limit * 4)
    const matcher = this.#match(understood)
    const found: (Suggestion & { score: number })[] = []
    for (const occupation of matches) {
      const best = this.#chooseSuggestion(occupation, matcher, typed, language)
      if (best === undefined) continue
      const score = (probability[occupation] as number) * best.score + (exact.get(occupation) ?? 0)
      found.push({ ...best.suggestion, score })
    }
    const seen = new Set<string>()
    return found
      .sort((a, b) => b.score - a.score || (a.occupationCode < b.occupationCode ? -1 : 1))
      .filter(({ text }) => !seen.has(fold(text)) && seen.add(fold(text)))
      .slice(0, limit)
      .map(({ text, occupationCode, language: own }) => ({ text, occupationCode, language: own }))
  }

  /**
   * The estimated probability of each occupation for a title, and tasks that describe it. On O*NET the estimate is
   * higher than the share of titles that belong to the best occupation: it orders titles by certainty.
   */
  estimate(title: string, tasks = ''): Float64Array {
    const { probability } = this.#understand(title, { open: false, tasks })
    const exact = findExact(this.index, title.slice(0, MAX_LENGTH), undefined)
    if (exact.size === 0) return probability
    // A name of the catalogue: nearly always one of the occupations that have it.
    const best = Math.max(...exact.values())
    const holders = [...exact].filter(([, rank]) => rank >= Math.min(best, 2)).map(([holder]) => holder)
    const held = holders.reduce((sum, holder) => sum + (probability[holder] as number), 0)
    const share = Math.max(held, EXACT_CERTAINTY)
    const chosen = new Set(holders)
    return probability.map((value, occupation) => {
      if (!chosen.has(occupation)) return held < 1 ? (value * (1 - share)) / (1 - held) : 0
      return held > 0 ? (value * share) / held : share / holders.length
    })
  }

  code(occupation: number): string {
    return readText(this.index.codes, occupation)
  }

  title(occupation: number, language: Language): string | undefined {
    const { occupationNames, nameKind, names } = this.index
    const end = occupationNames[occupation + 1] as number
    for (let name = occupationNames[occupation] as number; name < end; name++) {
      const kind = readKind(nameKind[name] as number)
      if (kind.field === 'title' && kind.language === language) return readText(names, name)
    }
    return undefined
  }

  #understand(query: string, { open, tasks = '' }: { open: boolean; tasks?: string }): Understood {
    const words = splitWords(query.slice(0, MAX_LENGTH), MAX_WORDS)
    const readings = words.length === 0 ? [] : this.#reader.read(words, open)
    const context = splitWords(tasks.slice(0, MAX_TASK_LENGTH), MAX_TASK_WORDS).map(({ word }) =>
      singular(word),
    )
    const probability = new Float64Array(this.index.header.occupations)
    const last = words.at(-1)
    const read = last === undefined ? '' : query.slice(0, last.to)
    for (const reading of readings) {
      const terms = reading.words.map(({ term }) => term)
      const text = reading.words.every(({ change }) => change === 'typed') ? read : terms.join(' ')
      addProbability(this.#scorer.score(text, terms, context), reading.weight, probability)
    }
    return { words, readings, probability }
  }

  #match({ readings, words }: Understood): Matcher {
    const typed = words.map(({ word }) => word)
    return new Matcher(this.index, this.#vocabulary, this.#scorer, readings, typed)
  }

  /** Occupations that have a word of a likely reading in their names or texts; without any, those that look like it. */
  #listMatches({ readings, probability }: Understood, exact: ReadonlyMap<number, number>): number[] {
    const { texts } = this.index
    const found = new Uint8Array(probability.length)
    for (const occupation of exact.keys()) found[occupation] = 1
    let known = exact.size > 0
    for (const { words, weight } of readings) {
      if (weight < 0.02) continue
      for (const { term } of words) {
        const word = STOP_WORDS.has(term) ? -1 : this.#vocabulary.find(term)
        if (word < 0) continue
        known = true
        for (let p = texts.start[word] as number; p < (texts.start[word + 1] as number); p++) {
          found[texts.column[p] as number] = 1
        }
      }
    }
    const similar = !known && readings.some(({ words }) => words.some(({ term }) => term.length > 3))
    const matches: number[] = []
    found.forEach((value, occupation) => {
      const likely = (probability[occupation] as number) > (known ? LIKELY / probability.length : SIMILAR)
      if (value === 1 || (likely && (known || similar))) matches.push(occupation)
    })
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
    probability: Float64Array,
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
        score: Math.round((probability[occupation] as number) * 1e4) / 1e4,
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

  #findSpelling(query: string, { words, readings }: Understood): string | undefined {
    const [best] = readings
    const changed = best?.words.some(({ change }) => CORRECTIONS.has(change)) ?? false
    if (best === undefined || !changed || best.weight < 0.4) return undefined
    const parts: string[] = []
    let last = -1
    for (const { term, change, from, to } of best.words) {
      if (CORRECTIONS.has(change)) parts.push(this.#spell(term))
      else if (from !== last) parts.push(query.slice(words[from]?.from, words[to - 1]?.to))
      last = from
    }
    return parts.join(' ')
  }

  #spell(term: string): string {
    const word = this.#vocabulary.find(term)
    return word < 0 ? term : readText(this.index.spellings, word)
  }

  #chooseSuggestion(occupation: number, matcher: Matcher, typed: string, language: Language | undefined) {
    const { occupationNames, nameKind, names } = this.index
    let best: { suggestion: Suggestion; score: number } | undefined
    const end = occupationNames[occupation + 1] as number
    for (let name = occupationNames[occupation] as number; name < end; name++) {
      const kind = readKind(nameKind[name] as number)
      if (kind.field === 'searchOnly' || kind.field === 'pluralTitle') continue
      if (language !== undefined && kind.language !== language) continue
      const text = readText(names, name)
      const begins = fold(text).startsWith(typed)
      const score = matcher.compare(name) + (begins ? 2 : 0) + (kind.field === 'title' ? 0.1 : 0)
      if (score <= 0.1 || (best !== undefined && score <= best.score)) continue
      best = { suggestion: { text, occupationCode: this.code(occupation), language: kind.language }, score }
    }
    return best
  }
}

/** How often a name of the catalogue is meant as one of the occupations that have it. */
const EXACT_CERTAINTY = 0.97
/** The least probability of an occupation that only looks like the query. */
const SIMILAR = 0.05
/** How many times as likely as the average an occupation must be that has none of the words. */
const LIKELY = 1
const CORRECTIONS: ReadonlySet<string> = new Set(['corrected', 'joined', 'split'])

function addProbability(logits: Float32Array, weight: number, probability: Float64Array): void {
  const best = findBest(logits)
  let total = 0
  for (let at = 0; at < logits.length; at++) {
    const below = (logits[at] as number) - best
    if (below > -FAR) total += Math.exp(below)
  }
  for (let at = 0; at < logits.length; at++) {
    const below = (logits[at] as number) - best
    if (below > -FAR) probability[at] = (probability[at] as number) + (weight * Math.exp(below)) / total
  }
}

/** The best of a list in their order, up to a number. */
function takeBest(list: readonly number[], score: Float64Array, count: number): number[] {
  const values = Float64Array.from(list, (each) => score[each] as number).sort()
  const least = values[Math.max(0, values.length - count)] ?? 0
  return list
    .filter((each) => (score[each] as number) >= least)
    .sort((a, b) => (score[b] as number) - (score[a] as number) || a - b)
    .slice(0, count)
}
