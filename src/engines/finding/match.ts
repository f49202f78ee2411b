import type { Language, NameField } from './document.ts'
import type { Expansion } from './expansion.ts'
import { hashText } from './features.ts'
import { fold, looseKey, splitWords } from './fold.ts'
import { findFirst, type IndexData, isConfirmed, readField, readKind, readText } from './index-data.ts'
import type { Scorer } from './score.ts'
import { STOP_WORDS, singular, stem } from './stem.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface MatchedName {
  readonly text: string
  readonly language: Language
  readonly field: NameField
  /** The positions of the query's words in the name, in UTF-16 code units, end exclusive. */
  readonly highlights: [number, number][]
}

/** The quality of an exact match: titles before other names, the same letters before the same loose key. */
export const EXACT = { title: 4, looseTitle: 3, confirmed: 2.5, name: 2, looseName: 1 }

/** The occupations with the query as a name, and the quality of the match. */
export function findExact(
  index: IndexData,
  query: string,
  language: Language | undefined,
): Map<number, number> {
  const exact = new Map<number, number>()
  const folded = fold(query)
  if (folded === '') return exact
  const key = looseKey(folded)
  const hash = hashText(key, 0)
  const { keyHash, keyName, occupationNames } = index
  for (let at = findFirst(keyHash, hash); at < keyHash.length && keyHash[at] === hash; at++) {
    const name = keyName[at] as number
    const kind = readKind(index.nameKind[name] as number)
    if (language !== undefined && kind.language !== language) continue
    const other = fold(readText(index.names, name))
    if (looseKey(other) !== key) continue
    const same = other === folded
    const title = kind.field === 'title'
    const byName = isConfirmed(index.nameKind[name] as number) ? EXACT.confirmed : EXACT.name
    const rank = title ? (same ? EXACT.title : EXACT.looseTitle) : same ? byName : EXACT.looseName
    const owner = findFirst(occupationNames, name + 1) - 1
    exact.set(owner, Math.max(exact.get(owner) ?? 0, rank))
  }
  return exact
}

/** How much a word counts that has the stem of one that the query means. */
const SAME_STEM = 0.7

/** What decides between names that match equally, by the number of their field. */
const PREFERENCE = Float64Array.of(0.054, 0.003, 0.002, 0.001)

/** What all matchers of an index know of its names, and memory that they use one after another. */
export class NameMemory {
  /** By name: its occupation, and the weight of its words. */
  readonly owners: Uint32Array
  readonly lengths: Float32Array
  /** By name: the weight of the words that it shares with the query; 0 between two uses. */
  readonly matched: Float32Array
  /** By word: the probability that the query means it, or less if it only means one with the same stem. */
  readonly shares: Float32Array

  constructor(index: IndexData, vocabulary: Vocabulary, scorer: Scorer) {
    const { nameKind, nameWordStart, nameWord, occupationNames } = index
    this.owners = new Uint32Array(nameKind.length)
    for (let occupation = 0; occupation < index.header.occupations; occupation++)
      this.owners.fill(occupation, occupationNames[occupation], occupationNames[occupation + 1])
    this.lengths = Float32Array.from(nameKind, (_, name) =>
      nameWord
        .subarray(nameWordStart[name], nameWordStart[name + 1])
        .reduce((sum, word) => sum + scorer.weigh(word), 0),
    )
    this.matched = new Float32Array(nameKind.length)
    this.shares = new Float32Array(vocabulary.size)
  }
}

/** Compares the names of occupations with a query, and finds the words in them to highlight. */
export class Matcher {
  readonly #index: IndexData
  readonly #scorer: Scorer
  readonly #names: NameMemory
  /** The words of the catalogue that the query may mean, or that have the stem of one of these. */
  readonly #words: readonly number[]
  readonly #prefixes = new Map<number, number>()
  /** The weight of the query's words. */
  readonly #length: number

  constructor(
    index: IndexData,
    vocabulary: Vocabulary,
    scorer: Scorer,
    expansions: readonly Expansion[],
    typed: string[],
    names: NameMemory,
  ) {
    this.#index = index
    this.#scorer = scorer
    this.#names = names
    const shares = names.shares.fill(0)
    const best = expansions[0]?.weight ?? 1
    const means = new Map<number, number>()
    const stems = new Map<string, number>()
    for (const { words, weight } of expansions) {
      for (const { term, change, from } of words) {
        if (change === 'omitted') continue
        const word = STOP_WORDS.has(term) ? -1 : vocabulary.find(term)
        if (word < 0) continue
        const share = Math.sqrt(weight / best) * (change === 'typed' ? 1 : 0.9)
        means.set(word, Math.max(means.get(word) ?? 0, share))
        const root = stem(term)
        stems.set(root, Math.max(stems.get(root) ?? 0, share * SAME_STEM))
        if (change === 'completed') this.#prefixes.set(word, typed[from]?.length ?? 0)
      }
    }
    const alike: number[] = []
    for (const [root, share] of stems) {
      for (const word of scorer.listAlike(root)) {
        shares[word] = share
        alike.push(word)
      }
    }
    // A word has its stem, so those that the query means are among them.
    this.#words = alike
    for (const [word, share] of means) shares[word] = share
    const first = expansions[0]?.words ?? []
    this.#length = first
      .filter(({ term, change }) => change !== 'omitted' && !STOP_WORDS.has(term))
      .reduce((sum, { term }) => sum + scorer.weigh(vocabulary.find(term)), 0)
  }

  /**
   * Calls a function with each name that shares a word with the query, or the stem of one, and their similarity.
   *
   * @param likely a number for each occupation: those with `least` or less are left out
   */
  compareNames(
    likely: Float64Array,
    least: number,
    each: (name: number, occupation: number, similarity: number) => void,
  ): void {
    const { start, column } = this.#index.wordNames
    const { owners, lengths, matched } = this.#names
    const found: number[] = []
    for (const word of this.#words) {
      const weight = this.#scorer.weigh(word) * (this.#names.shares[word] as number)
      for (let at = start[word] as number; at < (start[word + 1] as number); at++) {
        const name = column[at] as number
        if ((likely[owners[name] as number] as number) <= least) continue
        if (matched[name] === 0) found.push(name)
        matched[name] = (matched[name] as number) + weight
      }
    }
    for (const name of found) {
      each(name, owners[name] as number, this.#toSimilarity(matched[name] as number, lengths[name] as number))
      matched[name] = 0
    }
  }

  /** The similarity of a name to the query, from 0 to 1. */
  compare(name: number): number {
    const { nameWordStart, nameWord } = this.#index
    const { shares, lengths } = this.#names
    let matched = 0
    for (let at = nameWordStart[name] as number; at < (nameWordStart[name + 1] as number); at++) {
      const word = nameWord[at] as number
      const share = shares[word] as number
      if (share > 0) matched += this.#scorer.weigh(word) * share
    }
    return this.#toSimilarity(matched, lengths[name] as number)
  }

  /** The weight of shared words, of all that the query or the name has. */
  #toSimilarity(matched: number, length: number): number {
    return matched === 0 ? 0 : matched / Math.max(matched, this.#length + length - matched)
  }

  /** The name of an occupation that matches best. */
  choose(occupation: number, options: { language?: Language | undefined }): MatchedName | undefined {
    const { occupationNames, nameKind, names } = this.#index
    let [best, most] = [-1, -1]
    for (
      let name = occupationNames[occupation] as number;
      name < (occupationNames[occupation + 1] as number);
      name++
    ) {
      const kind = nameKind[name] as number
      if (options.language !== undefined && readKind(kind).language !== options.language) continue
      const score = this.compare(name) + (PREFERENCE[readField(kind)] as number)
      if (score <= most) continue
      best = name
      most = score
    }
    if (best < 0) return undefined
    const text = readText(names, best)
    return { text, ...readKind(nameKind[best] as number), highlights: this.highlight(best, text) }
  }

  /** The positions of the query's words in a name. */
  highlight(name: number, text: string): [number, number][] {
    const { nameWordStart, nameWord } = this.#index
    const start = nameWordStart[name] as number
    return splitWords(text).flatMap(({ word, from, to }, offset): [number, number][] => {
      const id = nameWord[start + offset] as number
      if (STOP_WORDS.has(singular(word)) || this.#names.shares[id] === 0) return []
      const typed = this.#prefixes.get(id)
      // If folding changed the length, the typed prefix cannot be located in the text.
      return [
        [from, typed !== undefined && word.length === to - from ? from + Math.min(typed, to - from) : to],
      ]
    })
  }
}
